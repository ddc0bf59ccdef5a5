"""One network's report: what runs where, time, memory and exactness as one value, and as a page.

calls        the calls of the generated C, with the network's operators in each
layers       the network's operators with place, time and bytes; partitions; errata
quality      accuracy and quantization error that other commands measured
operands     what an operator is known by, and its tensors with their quantization
timeline     the work of NPU, DMA and CPU, one after the other
memory       what lies where in the arena, and when
roofline     how near layers are to the NPU's limits
content      the value
assembly     its parts, put together
sections     the page's sections that plug-ins add
page         the value as an HTML page (owns its charts)
exports      the value for Perfetto and for Model Explorer
"""
