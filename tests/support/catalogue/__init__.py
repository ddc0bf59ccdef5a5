"""The operators of TFLite for tests, each described once.

`results` has the rule of an operator's outputs, which `NetworkBuilder.apply` follows. `cases` lists
the operators that move, count or compute elements, by code and type, from `elementwise`, `moves`
and `litert`; `bench` is the network that they are added to. `layers` draws layers with weights,
pools and softmaxes of any type; `products` and `recurrent` build the layers that have no method.
"""
