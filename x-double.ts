import { createServer } from "node:http";
import { SlurmDouble } from "./test/harness/slurm-double.ts";
const d = new SlurmDouble();
createServer((q, r) => {
  const url = q.url ?? "";
  if (url === "/move") { let s=""; q.on("data",c=>s+=c); q.on("end",()=>{ const {id,...f}=JSON.parse(s); d.move(id,f); r.end("ok"); }); return; }
  if (/partitions$/.test(url)) return void r.end(JSON.stringify({ partitions: [{ name: "gpu", nodes: { total: 4 }, partition: { state: ["UP"] } }, { name: "cpu", nodes: { total: 16 }, partition: { state: ["UP"] } }] }));
  if (/nodes\/?$/.test(url)) return void r.end(JSON.stringify({ nodes: [{ name: "n01", gres: "gpu:a100:4(S:0-1)", cpus: 64, real_memory: 512000, state: ["IDLE"] }] }));
  void d.answer(q, r);
}).listen(21790, "127.0.0.1");
for (const port of [21800, 21808, 21816]) createServer((_, r) => r.end('{"choices":[]}')).listen(port, "127.0.0.1");
// jobs run soon after they were submitted
setInterval(() => { for (const j of d.jobs.values()) if (j.id < 4 && Array.isArray(j.states) && j.states[0] === "PENDING") d.move(j.id, { states: ["RUNNING"], nodes: `n0${j.id}` }); else if (j.id>=4) d.move(j.id,{reason:"Resources"}); }, 3000);
