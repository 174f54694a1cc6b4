"""Runs llama.cpp's server until it is killed: `llama_server.py MODEL PORT text|embedding`."""

import signal
import sys

import xllamacpp

path, port, use = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path = path
params.model_alias = {use}
params.hostnames = ["127.0.0.1"]
params.port = int(port)
params.n_ctx = 32_768
params.n_parallel = 4
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.sampling.temp = 0
params.sampling.seed = 1
params.endpoint_metrics = params.endpoint_slots = params.endpoint_props = True
params.use_jinja = True
if use == "embedding":
    params.embedding = True
    params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
params.warmup = False
# What is in a cache depends on the calls before, and with it the counts of an answer.
params.cache_prompt = False
params.cache_ram_mib = 0
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
signal.pause()
