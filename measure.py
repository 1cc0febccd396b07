#!/usr/bin/env python3
"""Times runs of cudnn at head dim 128 on this machine's a100, and writes their costs to costs.json."""

import pathlib
import sys
import tempfile

from natten_sim import measure

RUNS = """\
kernel,device,pass,input,window,stride,causal,q_tile,kv_tile,batch,heads,head_dim,dtype,predicted_ms,uncertainty
cudnn,a100,forward,27280,27280,,0,128,128,1,24,128,bf16,54.13999588196012,0.23448330024767255
cudnn,a100,forward,3136,3136,,1,128,128,1,2,128,bf16,0.12304854262788825,0.09704402812548651
cudnn,a100,forward,20480,20480,,0,128,128,1,1,128,bf16,1.4470766522361724,0.04255994700795449
cudnn,a100,forward,75600,75600,,1,128,128,1,40,128,bf16,367.78392454121735,0.03520741878844019
cudnn,a100,forward,3136,3136,,0,128,128,1,2,128,bf16,0.12294153528668275,0.02161105917026657
cudnn,a100,forward,4096,4096,,1,128,128,1,38,128,bf16,1.029719155359457,0.01938735616913928
cudnn,a100,backward,784,784,,1,64,128,1,4,128,bf16,0.13062910381363094,0.43294048472026453
cudnn,a100,backward,118800,118800,,0,64,128,1,1,128,bf16,101.14198013037053,0.19611749009122065
cudnn,a100,backward,784,784,,0,64,128,1,4,128,bf16,0.12960169987001005,0.04171542651258079
cudnn,a100,backward,27280,27280,,1,64,128,1,1,128,bf16,2.4910092844303193,0.0338725826500665
cudnn,a100,backward,1024,1024,,1,64,128,1,24,128,bf16,0.2603307103820586,0.027054776702547287
cudnn,a100,backward,1024,1024,,0,64,128,1,24,128,bf16,0.280360572323103,0.021703789080338032
"""

with tempfile.TemporaryDirectory() as folder:
    runs = pathlib.Path(folder, "runs.csv")
    runs.write_text(RUNS, encoding="utf-8")
    sys.exit(measure.main(["--runs", str(runs), "--save", "costs.json", *sys.argv[1:]]))
