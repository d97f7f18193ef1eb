"""Polynomials near elementary functions, lowest degree first, as C constants.

In: nothing.  Out: interpolations at Chebyshev points, computed to 300 bits and then rounded.
Those for float32 have fewer terms; they are evaluated in double, too, but for `..._FLOAT`.
"""

from __future__ import annotations

Polynomial = tuple[str, ...]

EXP: Polynomial = (
    "0x1.0000000000001p-1",
    "0x1.5555555555556p-3",
    "0x1.5555555553d63p-5",
    "0x1.11111111109b3p-7",
    "0x1.6c16c1788bd90p-10",
    "0x1.a01a01a7c41d5p-13",
    "0x1.a019b90d2ae7ap-16",
    "0x1.71de0dae63bb3p-19",
    "0x1.289185613a3d6p-22",
    "0x1.af38a9b0ec855p-26",
)
"""(exp(r) - 1 - r) / r**2, |r| <= log(2) / 2"""

EXP_SINGLE: Polynomial = (
    "0x1.0000000b9129bp-1",
    "0x1.5555555a78ed4p-3",
    "0x1.5554e9063586ep-5",
    "0x1.1110e0f238322p-7",
    "0x1.6d43246b523b4p-10",
    "0x1.a124f19fe89acp-13",
)
"""(exp(r) - 1 - r) / r**2, |r| <= log(2) / 2"""

EXP_FLOAT: Polynomial = (
    "0x1.0p-1",
    "0x1.5554dep-3",
    "0x1.55551ap-5",
    "0x1.120b62p-7",
    "0x1.6d10fcp-10",
)
"""(exp(r) - 1 - r) / r**2, |r| <= log(2) / 2, evaluated in float"""

EXP2_FLOAT: Polynomial = (
    "0x1.62e43p-1",
    "-0x1.05c61p-29",
    "0x1.ebfbep-3",
    "0x1.c6afeep-5",
    "0x1.3b2a8p-7",
    "0x1.5ec866p-10",
    "0x1.43e716p-13",
)
"""(2**r - 1) / r, |r| <= 1 / 2, evaluated in float; log(2) in two parts, then the rest times r"""

EXP2: Polynomial = (
    "0x1.62e42fefa39efp-1",
    "0x1.ebfbdff82c58fp-3",
    "0x1.c6b08d704a0c6p-5",
    "0x1.3b2ab6fba4e79p-7",
    "0x1.5d87fe78a3f9ap-10",
    "0x1.430912f86b7dap-13",
    "0x1.ffcbfc6da7932p-17",
    "0x1.62c02242b8bb8p-20",
    "0x1.b524ebcf8f36cp-24",
    "0x1.e4cf10dd6eb26p-28",
    "0x1.e9ec22c2bcbfap-32",
    "0x1.c4a2957dfb045p-36",
)
"""(2**r - 1) / r, |r| <= 1 / 2"""

LOG: Polynomial = (
    "0x1.5555555555558p-1",
    "0x1.99999999952b2p-2",
    "0x1.2492492df6947p-2",
    "0x1.c71c62debf86bp-3",
    "0x1.7462b69705382p-3",
    "0x1.39fe208c33457p-3",
    "0x1.2b5b5fb2eac92p-3",
)
"""(log((1 + s) / (1 - s)) - 2 * s) / s**3 in s**2, |s| <= 3 - 2 * sqrt(2)"""

LOG_SINGLE: Polynomial = (
    "0x1.5555554bae5e4p-1",
    "0x1.9999eb792e453p-2",
    "0x1.245c3741a2940p-2",
    "0x1.ddd171deebc70p-3",
)
"""(log((1 + s) / (1 - s)) - 2 * s) / s**3 in s**2, |s| <= 3 - 2 * sqrt(2)"""

LOG_FLOAT: Polynomial = (
    "0x1.555548p-2",
    "-0x1.000006p-2",
    "0x1.99a4b4p-3",
    "-0x1.555c50p-3",
    "0x1.233772p-3",
    "-0x1.fc21cep-4",
    "0x1.e6ef9ap-4",
    "-0x1.de3d12p-4",
    "0x1.145a9ap-4",
)
"""(log(1 + f) - f + f**2 / 2) / f**3, sqrt(1 / 2) <= 1 + f <= sqrt(2), evaluated in float"""

LOG_TAIL: Polynomial = (
    "0x1.999999999999ep-2",
    "0x1.249249248e511p-2",
    "0x1.c71c71d7ef489p-3",
    "0x1.745d09ebc663ep-3",
    "0x1.3b18ba4163286p-3",
    "0x1.10188237ff7e4p-3",
    "0x1.087aabe253d9cp-3",
)
"""(log((1 + s) / (1 - s)) - 2 * s - 2 / 3 * s**3) / s**5 in s**2"""

ASIN: Polynomial = (
    "0x1.5555555555556p-3",
    "0x1.3333333332ec4p-4",
    "0x1.6db6db6e3292ep-5",
    "0x1.f1c71c1d4aa0dp-6",
    "0x1.6e8bb1d89492bp-6",
    "0x1.1c4d343fa57f6p-6",
    "0x1.c9cf3759fd8ffp-7",
    "0x1.78246f32d075cp-7",
    "0x1.524ea8b3aad31p-7",
    "0x1.653a8f8cfd43cp-8",
    "0x1.1d661531b222ep-6",
    "-0x1.e7a24f548c99fp-7",
    "0x1.d78189767524ep-6",
)
"""(asin(s) - s) / s**3 in s**2, |s| <= 1 / 2"""

ASIN_FLOAT: Polynomial = (
    "0x1.55554cp-3",
    "0x1.33387cp-4",
    "0x1.6caed2p-5",
    "0x1.0491a0p-5",
    "0x1.d91faep-7",
    "0x1.3355c2p-5",
)
"""(asin(s) - s) / s**3 in s**2, |s| <= 1 / 2, evaluated in float"""

ATAN: Polynomial = (
    "-0x1.5555555555555p-2",
    "0x1.9999999999341p-3",
    "-0x1.24924924358fep-3",
    "0x1.c71c7184e2ef2p-4",
    "-0x1.745d0b1a496d3p-4",
    "0x1.3b1261b89f530p-4",
    "-0x1.10fa65570f9fep-4",
    "0x1.dfe50abb518e4p-5",
    "-0x1.a09318ec93cebp-5",
    "0x1.414ff0b841a9cp-5",
    "-0x1.3a03a36923274p-6",
)
"""(atan(s) - s) / s**3 in s**2, |s| <= tan(pi / 8)"""

ATAN_FLOAT: Polynomial = (
    "-0x1.55553ep-2",
    "0x1.9991fcp-3",
    "-0x1.2421acp-3",
    "0x1.c099aap-4",
    "-0x1.5833dcp-4",
    "0x1.dac840p-5",
    "-0x1.fecf64p-6",
    "0x1.65a550p-7",
    "-0x1.d62f8ap-10",
)
"""(atan(s) - s) / s**3 in s**2, |s| <= 1, evaluated in float"""

SIN: Polynomial = (
    "-0x1.5555555555555p-3",
    "0x1.1111111111110p-7",
    "-0x1.a01a01a019936p-13",
    "0x1.71de3a54605eep-19",
    "-0x1.ae64541266378p-26",
    "0x1.61217ec01749dp-33",
    "-0x1.ab17a79237a19p-41",
)
"""(sin(s) - s) / s**3 in s**2, |s| <= pi / 4"""

SIN_SINGLE: Polynomial = (
    "-0x1.555555545dd83p-3",
    "0x1.11110deeb33b2p-7",
    "-0x1.a013a6edc8f34p-13",
    "0x1.6dbdd26f56d2dp-19",
)
"""(sin(s) - s) / s**3 in s**2, |s| <= pi / 4"""

SIN_HALF: Polynomial = (
    "-0x1.5555555555555p-3",
    "0x1.11111111110c1p-7",
    "-0x1.a01a01a0148a7p-13",
    "0x1.71de3a5287307p-19",
    "-0x1.ae6454cb10d3ap-26",
    "0x1.6123cb16c0d39p-33",
    "-0x1.ae4318ab5bfa3p-41",
    "0x1.882919069f8d0p-49",
)
"""(sin(s) - s) / s**3 in s**2, |s| <= pi / 2"""

SIN_HALF_FLOAT: Polynomial = (
    "-0x1.55554cp-3",
    "0x1.110ed4p-7",
    "-0x1.9f6feep-13",
    "0x1.5dbcecp-19",
)
"""(sin(s) - s) / s**3 in s**2, |s| <= pi / 2, evaluated in float"""

COS: Polynomial = (
    "0x1.5555555555555p-5",
    "-0x1.6c16c16c16966p-10",
    "0x1.a01a019f4e867p-16",
    "-0x1.27e4fa17a41b4p-22",
    "0x1.1eeb68b109173p-29",
    "-0x1.907d7aebd5e3dp-37",
)
"""(cos(s) - 1 + s**2 / 2) / s**4 in s**2, |s| <= pi / 4"""

COS_SINGLE: Polynomial = (
    "0x1.555554414e3a6p-5",
    "-0x1.6c12d2887c343p-10",
    "0x1.9bd86445fb99bp-16",
)
"""(cos(s) - 1 + s**2 / 2) / s**4 in s**2, |s| <= pi / 4"""

ERF: Polynomial = (
    "-0x1.812746b0379e7p-2",
    "0x1.ce2f21a042bd7p-4",
    "-0x1.b82ce312882f8p-6",
    "0x1.565bcd0e434bbp-8",
    "-0x1.c02db3f4735cbp-11",
    "0x1.f9a324ddf0f34p-14",
    "-0x1.f4d21efdafc7dp-17",
    "0x1.b9e2333703249p-20",
    "-0x1.5f39372686202p-23",
    "0x1.f8d476ab1a455p-27",
    "-0x1.3c1e91b012003p-30",
    "0x1.0f8a27a51ad26p-34",
)
"""(erf(s) / s - 2 / sqrt(pi)) / s**2 in s**2, |s| <= 1"""

ERF_SINGLE: Polynomial = (
    "-0x1.812746adc399ep-2",
    "0x1.ce2f1ddd9a501p-4",
    "-0x1.b82bf11e1ef9fp-6",
    "0x1.5644dffe941d2p-8",
    "-0x1.be17c2ff1be0bp-11",
    "0x1.e05216a679718p-14",
    "-0x1.56d13291f7b15p-17",
)
"""(erf(s) / s - 2 / sqrt(pi)) / s**2 in s**2, |s| <= 1"""

ERF_EXPONENT: Polynomial = (
    "0x1.45f306dc9c890p-1",
    "0x1.a4f4e2a1b2969p-4",
    "-0x1.39668594010cbp-6",
    "-0x1.b6b68b15e0becp-13",
    "0x1.bca67b1bf8d95p-10",
    "-0x1.3565492019255p-11",
    "0x1.b229176c63839p-16",
    "0x1.0e813ec30d38bp-14",
    "-0x1.f2bc162a2e4adp-16",
    "0x1.c9e04097418e2p-19",
    "0x1.7be123a39f1efp-19",
    "-0x1.d24d904de94a5p-20",
    "0x1.65a67ac769dd1p-22",
    "0x1.2aca32853dcdfp-23",
    "-0x1.3272cb5d32c41p-23",
    "0x1.1be2d720c8123p-24",
    "-0x1.6a13945c93005p-26",
    "0x1.595a4c25cd606p-28",
    "-0x1.f63fe9af60972p-31",
    "0x1.1443c045c11a3p-33",
    "-0x1.beb92265c5a55p-37",
    "0x1.f5965e975ec05p-41",
    "-0x1.5d86240b40279p-45",
    "0x1.c75a474ab9ce8p-51",
)
"""(-log(erfc(s)) - 2 / sqrt(pi) * s) / s**2, 0 <= s <= 6"""

ERF_EXPONENT_FLOAT: Polynomial = (
    "0x1.45f308p-1",
    "0x1.a4f3b2p-4",
    "-0x1.393cfap-6",
    "-0x1.074aaep-12",
    "0x1.d7037ep-10",
    "-0x1.834c0ap-11",
    "0x1.5d680ap-13",
    "-0x1.62d984p-16",
    "0x1.3b137cp-20",
)
"""(-log(erfc(s)) - 2 / sqrt(pi) * s) / s**2, 0 <= s <= 4, evaluated in float"""

ERFC: Polynomial = (
    "0x1.3ba5916e9fd7fp+0",
    "-0x1.1df1ad154a28ep-3",
    "0x1.f7f5df66fd766p-7",
    "0x1.16ecefcfa52c4p-4",
    "-0x1.9ddb23c3e8dbfp-4",
    "0x1.7fee004e149c9p-4",
    "-0x1.0fb06dfe4ec8ep-4",
    "0x1.3079edf624304p-5",
    "-0x1.09623883d38e1p-6",
    "0x1.49c672a831e93p-8",
    "-0x1.8d4a9b33a838ap-11",
    "-0x1.a1df4366a2ba7p-13",
    "0x1.3be057cc389e8p-13",
    "-0x1.9955074f81f98p-16",
    "-0x1.788a0503e859ep-17",
    "0x1.7ef67bbc70d7ap-18",
    "0x1.3aec677ce468fp-22",
    "-0x1.b80bf7a1f4987p-21",
    "0x1.42df02f54ccacp-24",
    "0x1.bbfd8daf90babp-24",
    "-0x1.3913f77f648c2p-26",
    "-0x1.4d15019e29fbap-27",
    "0x1.065fac288658dp-29",
)
"""(1 + 2 * x) * exp(x**2) * erfc(x) in (x - 4) / (x + 4), 0.5 <= x <= 27.5"""

ERFC_SINGLE: Polynomial = (
    "0x1.40c522da8ad1ap+0",
    "-0x1.15c0846f9a9e2p-3",
    "-0x1.85a18e9060c0cp-5",
    "0x1.09835386eb301p-3",
    "-0x1.e8891ff6e727bp-4",
    "0x1.17cd23ed4911dp-4",
    "-0x1.85c5874d857cfp-6",
    "0x1.486455ac952c5p-9",
    "0x1.00521e3f18ef3p-9",
    "-0x1.6a235b0ca1a5fp-11",
    "-0x1.84bd3933057c2p-13",
)
"""(1 + 2 * x) * exp(x**2) * erfc(x) in (x - 3) / (x + 3), 0.5 <= x <= 10.5"""

CBRT: Polynomial = (
    "0x1.c713e2847cbe6p+0",
    "-0x1.8dd4bd7d34771p+0",
    "0x1.3a267a3d49ad4p+0",
    "-0x1.2c4b958d54c08p-1",
    "0x1.37ce9e9ed0a1dp-3",
    "-0x1.0e87006cbe6bbp-6",
)
"""m**(-1 / 3), 1 <= m <= 2"""
