"""The C function around a call that waits for an accelerator, or copies to its memory."""

from collections.abc import Sequence

from ethosgen.values.call import Call

INLINE = "static inline __attribute__((always_inline))"
"""As GCC, Clang and Arm Compiler spell it: such a function costs no call of its own."""


def function_around(call: Call) -> str:
    """Return the C of the function `call.around`, which has the same parameters as the call."""
    function, copies = call.function, {copy.argument: copy for copy in call.copies}
    names = [f"a{number}" for number in range(len(function.parameters))]
    typed = zip(function.parameters, names, strict=True)
    parameters = [f"{kind}{'' if kind.endswith('*') else ' '}{name}" for kind, name in typed]
    unused = [names[i] for i, copy in copies.items() if not copy.direction]
    lines = [f"  (void){name};" for name in unused]
    lines.append("  int32_t status = 0;")
    steps = steps_of(call, names)
    lines += [f"  if (status == 0) {{\n    status = {step};\n  }}" for step in steps]
    head = f"{INLINE} int32_t {call.around}(\n    " + ",\n    ".join(parameters) + ")"
    return f"{head} {{\n" + "\n".join([*lines, "  return status;"]) + "\n}\n"


def steps_of(call: Call, names: Sequence[str]) -> list[str]:
    """Return the calls of C functions of a call whose arguments have these names, in order."""
    copies = {copy.argument: copy for copy in call.copies}
    passed = [
        f"(void *)&{call.local.symbol}[{copies[i].offset}]" if i in copies and call.local else name
        for i, name in enumerate(names)
    ]
    steps = [f"{call.function.symbol}({', '.join(passed)})"]
    steps += [f"{call.awaited}({call.awaited_argument})"] if call.awaited else []
    if call.local is not None:
        place = call.local.symbol
        into = [(c, names[c.argument]) for c in call.copies if c.direction == "in"]
        back = [(c, names[c.argument]) for c in call.copies if c.direction == "out"]
        copy_in, copy_out = call.local.copy_in, call.local.copy_out
        steps = [
            *(f"{copy_in}(&{place}[{c.offset}], {name}, {c.bytes})" for c, name in into),
            *steps,
            *(f"{copy_out}({name}, &{place}[{c.offset}], {c.bytes})" for c, name in back),
        ]
    return steps
