"""One network's report: what runs where, time, memory and exactness as one value, and as a page.

calls        the calls of the generated C, with the network's operators in each
layers       the network's operators with place, time and bytes; partitions; errata
quality      accuracy and quantization error that other commands measured
operands     an operator's attributes, and its tensors with their quantization
timeline     the work of NPU, DMA and CPU, in order
memory       the contents of the arena over time
roofline     layers, compared with the NPU's limits
content      the value
assembly     the parts, assembled
sections     the page's sections that plug-ins add
page         the value as an HTML page (owns its charts)
exports      the value for Perfetto and for Model Explorer
"""
