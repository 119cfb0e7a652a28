/* SPDX-License-Identifier: MIT */
/* Errors of operators, their options and their files. Each has a text of its own. */
#include "cli.h"

void test_bad_operators(void **unused) {
    (void)unused;
    static const bad_row rows[] = {
        {"reduce sum,frob x", {"unknown operator frob", "sum, min, max, prod"}, NULL, NULL},
        {"reduce sum,,max x", {"'sum,,max'", "empty"}, NULL, NULL},
        {"reduce sum, x", {"'sum,'", "empty"}, NULL, NULL},
        {"reduce dot a", {"reduce dot", "needs 2 files", "1 is named"}, NULL, NULL},
        {"reduce dot,dist2 a b c", {"reduce dot,dist2", "needs 2 files", "3 are named"}, NULL, NULL},
        {"reduce dot,sum a b", {"dot reads 2 files", "sum 1", "share a pass"}, NULL, NULL},
        {"reduce allclose - -", {"standard input"}, NULL, NULL},
        {"reduce sum,prod,min,max,nanmin,nanmax,any,all,count_nonzero,band,bor,bxor,asum,sumsq,amax,mean,var x",
         {"too many operators", "at most 16"},
         NULL,
         NULL},
        {"reduce sum,prod,any,all,count_nonzero,band,bor,bxor,asum,sumsq,nrm2,mean,var,argmin,argmax x",
         {"too many operators", "count twice"},
         NULL,
         NULL},
        {"reduce sum --acc f33 x", {"--acc f33", "f32, f64, i32, u32, i64, u64"}, NULL, NULL},
        {"reduce sum --acc f16 x", {"--acc f16", "accumulator"}, NULL, NULL},
        {"reduce sum --accuracy best x", {"--accuracy best", "default, compensated"}, NULL, NULL},
        {"reduce sum --out f33 x", {"--out f33", "f32, f64, i32"}, NULL, NULL},
        {"reduce sum,max --out f64 x", {"--out f64", "several operators keep their types"}, NULL, NULL},
        {"reduce argmin --out i64 x", {"--out i64", "argmin gives an index"}, NULL, NULL},
        {"reduce var --param ddof x", {"--param ddof", "a number", "ddof=1"}, NULL, NULL},
        {"reduce var --param ddof= x", {"--param ddof=", "a number"}, NULL, NULL},
        {"reduce var --param ddof=one x", {"--param ddof=one", "a number"}, NULL, NULL},
        {"reduce var --param ddof=1x x", {"--param ddof=1x", "a number"}, NULL, NULL},
        {"reduce var --param =1 x", {"--param =1", "a name"}, NULL, NULL},
        {"reduce var --param ddof=1 --param ddof=2 x", {"--param ddof", "twice"}, NULL, NULL},
        {"reduce var --param rtol=1 x", {"--param rtol", "var has no such parameter", "there is ddof"}, NULL, NULL},
        {"reduce allclose --param tol=1 x y", {"--param tol", "there are rtol, atol"}, NULL, NULL},
        {"reduce sum --param ddof=1 x", {"--param ddof", "sum has no such parameter", "none"}, NULL, NULL},
        {"devices --param ddof=1", {"devices", "--param"}, NULL, NULL},
        {"check --acc f64", {"check", "--acc"}, NULL, NULL},
    };
    must_refuse_rows(rows, COUNT(rows), 2);
}

#define SUM_OF(load) "reduce --load " load " --combine a+b --identity 0 "

void test_bad_own_operators(void **unused) {
    (void)unused;
    static const bad_row rows[] = {
        {"reduce sum --combine a+b x", {"--combine", "--load is missing"}, NULL, NULL},
        {"reduce sum --identity 0 x", {"--identity", "--load is missing"}, NULL, NULL},
        {"reduce sum --finish a x", {"--finish", "--load is missing"}, NULL, NULL},
        {"reduce sum --inputs 2 x", {"--inputs", "--load is missing"}, NULL, NULL},
        {"reduce --load x x", {"--load", "--combine and --identity"}, NULL, NULL},
        {"reduce --load x --combine a+b x", {"needs --identity too"}, NULL, NULL},
        {"reduce --load x --identity 0 x", {"needs --combine too"}, NULL, NULL},
        {"reduce sum --load x --combine a+b --identity 0 x", {"reduce sum", "--load", "no other operator"}, NULL, NULL},
        {SUM_OF("x"), {"reduce --load", "no file"}, NULL, NULL},
        {SUM_OF("x*y") "--inputs 2 a", {"reduce --load", "needs 2 files", "1 is named"}, NULL, NULL},
        {SUM_OF("x") "--inputs 0 a", {"--inputs 0", "1 to 4"}, NULL, NULL},
        {SUM_OF("x") "--inputs 5 a", {"--inputs 5", "1 to 4"}, NULL, NULL},
        {SUM_OF("x") "--inputs 2x a", {"--inputs 2x", "1 to 4"}, NULL, NULL},
        {SUM_OF("x") "--accuracy compensated a", {"--accuracy", "not of --load"}, NULL, NULL},
        {SUM_OF("x") "--acc u8 a", {"--acc u8", "f32, f64, i32, u32, i64, u64"}, NULL, NULL},
        {SUM_OF("x") "--out c64 a", {"--out is c64", "real"}, NULL, NULL},
        {SUM_OF("x*p.2x") "--param 2x=1 a", {"--param 2x=1", "a name", "a number"}, NULL, NULL},
        {SUM_OF("x*p.t") "--param t:i32=1e10 a", {"--param t: 10000000000 does not fit i32"}, NULL, NULL},
        {SUM_OF("x*p.t") "--param t:i64=nan a", {"--param t: nan does not fit i64"}, NULL, NULL},
        {SUM_OF("x*p.t") "--param t:u64=1e30 a", {"--param t: 1e+30 does not fit u64"}, NULL, NULL},
        {"reduce --load= --combine a+b --identity 0 a", {"--load", "empty"}, NULL, NULL},
        {SUM_OF("(x") "a", {"--load", "'(x'", "')' is missing"}, NULL, NULL},
        {SUM_OF("x)") "a", {"--load", "'x)'", "closes nothing"}, NULL, NULL},
        {"reduce --load x --combine a;b --identity 0 a", {"--combine", "'a;b'", "';' is in no expression"}, NULL, NULL},
        {SUM_OF("x") "--finish {a} a", {"--finish", "'{a}'", "'{' is in no expression"}, NULL, NULL},
    };
    const float x[2] = {1, 2};
    static const bad_row failures[] = {
        {SUM_OF("x*blunder") "--dtype f32 own.raw", {"own.raw: --load 'x*blunder' does not compile: ", "blunder"}, NULL, NULL},
        {"reduce --load x --combine a+blunder --identity 0 --dtype f32 own.raw",
         {"own.raw: --combine 'a+blunder' does not compile: ", "blunder"},
         NULL,
         NULL},
        {SUM_OF("x") "--finish a*p.blunder --dtype f32 own.raw",
         {"own.raw: --finish 'a*p.blunder' does not compile: ", "blunder"},
         NULL,
         NULL},
        {SUM_OF("x*") "--dtype f32 own.raw", {"own.raw: --load 'x*' does not compile: "}, NULL, NULL},
        {SUM_OF("x*") "--initial 1 --dtype f32 own.raw", {"own.raw: --load 'x*' does not compile: "}, NULL, NULL},
    };
    must_refuse_rows(rows, COUNT(rows), 2);
    need_compiler();
    write_file("own.raw", x, sizeof(x));
    must_refuse_rows(failures, COUNT(failures), 1);
}

/* Operators with items that they do not take, and with results that they do not give. */
void test_bad_items(void **unused) {
    (void)unused;
    const double x[4] = {1, 2, 3, 4};
    static const bad_row rows[] = {
        {"reduce band --dtype f32 items.raw", {"items.raw: band does not take f32"}, NULL, NULL},
        {"reduce min --dtype c64 items.raw", {"items.raw: min does not take c64"}, NULL, NULL},
        {"reduce sum,argmax --dtype c128 items.raw", {"items.raw: argmax does not take c128"}, NULL, NULL},
        {"reduce allclose --dtype c64 items.raw items.raw",
         {"items.raw and items.raw: allclose does not take c64"},
         NULL,
         NULL},
        {"reduce sum --dtype f32 --out i32 items.raw", {"--out is i32", "sum is f32", "a float"}, NULL, NULL},
        {"reduce sum --dtype i32 --out c64 items.raw", {"--out is c64", "sum is i64", "an integer"}, NULL, NULL},
        {"reduce sum --dtype c64 --out f64 items.raw", {"--out is f64", "sum is c64", "complex"}, NULL, NULL},
        {"reduce all --dtype f32 --out f32 items.raw", {"--out is f32", "all is bool", "a truth value"}, NULL, NULL},
        {"reduce sum --dtype f64 --acc f32 items.raw", {"--acc is f32", "sum of f64"}, NULL, NULL},
        {"reduce sum --dtype f32 --acc i64 items.raw", {"--acc is i64", "sum of f32"}, NULL, NULL},
        {"reduce sum --dtype i32 --acc f64 items.raw", {"--acc is f64", "sum of i32"}, NULL, NULL},
        {"reduce sum --dtype i32 --accuracy compensated items.raw", {"sum of i32", "'compensated'"}, NULL, NULL},
        {"reduce max --dtype f32 --accuracy compensated items.raw", {"max of f32", "'compensated'"}, NULL, NULL},
    };
    need_device();
    write_file("items.raw", x, sizeof(x));
    must_refuse_rows(rows, COUNT(rows), 1);
}

void test_bad_pairs(void **unused) {
    (void)unused;
    const float x[5] = {1, 2, 3, 4, 5};
    static const bad_row rows[] = {
        {"reduce dot four.npy five.npy", {"four.npy and five.npy: their shapes differ: (4,) and (5,)"}, NULL, NULL},
        {"reduce dot five.npy four.npy", {"five.npy and four.npy: their shapes differ: (5,) and (4,)"}, NULL, NULL},
        {"reduce dot four.npy doubles.npy", {"four.npy and doubles.npy: their item types differ: f32 and f64"}, NULL, NULL},
        {"reduce dot four.npy absent.npy", {"absent.npy: No such file"}, NULL, NULL},
        {"reduce dot absent.npy four.npy", {"absent.npy: No such file"}, NULL, NULL},
        {"reduce dot four.npy -", {"four.npy and -: their shapes differ: (4,) and (5,)"}, NULL, "five.npy"},
        /* The length of raw standard input is known only at its end. */
        {"reduce dot --dtype f32 - four.raw", {"- and four.raw: their lengths differ: 5 items and 4"}, NULL, "five.raw"},
        {"reduce dot --dtype f32 five.raw -", {"five.raw and -: their lengths differ: 5 items and 4"}, NULL, "four.raw"},
        {"reduce dot --dtype f32 four.raw -", {"four.raw and -: their lengths differ: 4 items and 0"}, NULL, NULL},
    };
    need_device();
    write_npy("four.npy", 1, own_descr('f', 4), "(4,)", x, 16);
    write_npy("five.npy", 1, own_descr('f', 4), "(5,)", x, 20);
    write_npy("doubles.npy", 1, own_descr('f', 8), "(2,)", x, 16);
    write_file("four.raw", x, 16);
    write_file("five.raw", x, 20);
    must_refuse_rows(rows, COUNT(rows), 1);
}
