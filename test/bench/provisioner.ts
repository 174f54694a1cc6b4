/**
 * `npm run bench:provisioner [-- --specs 200 --replicas 5]`: how long whole ticks of the provisioner take, with a gateway on
 * this machine and the recorded double of Slurm, and how many calls each makes. The provisioner runs alone, so that its calls
 * of the Management API go over HTTP. It reports figures and checks none.
 */

import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { createLog } from "../../control/kernel/log.ts";
import { composeProvisioner, type RunningProvisioner } from "../../control/provisioner/compose-provisioner.ts";
import { parseLoneProvisionerEnv } from "../../control/provisioner/provisioner-env.ts";
import type { Stack } from "../../infra/local/stack.ts";
import type { Model } from "../../shared/schema/model.ts";
import { makeTemplate } from "../harness/database-template.ts";
import { Gateway } from "../harness/gateway.ts";
import { type SlurmDouble, startSlurmDouble } from "../harness/slurm-double.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { type Spread, spreadOf } from "./spread.ts";

const QUIET_TICKS = 9;
const ATTEMPTS = 20;
/** Below the ports that systems give to clients. */
const FIRST_PORT = 21_000;
/** Every address of 127.0.0.0/8 is this machine; at this one nothing else listens. */
const NODE = { host: "n1", ip: "127.20.11.23" } as const;

/** What is counted while a tick runs. */
interface Calls {
  management: number;
  probes: number;
}

const { values } = parseArgs({
  options: { specs: { type: "string", default: "200" }, replicas: { type: "string", default: "5" } },
});
const specs = Number(values.specs);
const replicas = Number(values.replicas);

const { double, close } = await startSlurmDouble();
const calls: Calls = { management: 0, probes: 0 };
const servers: Server[] = [];
let stack: Stack | undefined;
try {
  await makeTemplate();
  stack = await startTestStack({ GATEWAY_PROVISIONER_ENABLED: "false" }, { log: () => undefined });
  await fill(new Gateway(stack), double);
  const provisioner = provisionerOf(stack);
  await report(`submits ${specs * replicas} jobs`, provisioner);
  for (const { id, script } of double.jobs.values()) {
    double.move(id, { states: ["RUNNING"], nodes: NODE.host });
    servers.push(await serve(Number(/^gateway_port=(\d+)$/m.exec(script)?.[1])));
  }
  await report(`promotes ${specs * replicas} replicas`, provisioner);
  const quiet: number[] = [];
  for (let tick = 0; tick < QUIET_TICKS; tick += 1) quiet.push(await report("has nothing to do", provisioner));
  for (const { id } of [...double.jobs.values()].slice(0, specs)) double.move(id, { states: ["FAILED"] });
  await report(`replaces ${specs} jobs that failed`, provisioner);
  const spread = spreadOf(quiet);
  if (spread !== null) console.log(`a tick that has nothing to do: ${inMs(spread)}`);
  console.log(
    `load of this machine: ${loadavg()
      .map((value) => value.toFixed(1))
      .join(", ")}`,
  );
  provisioner.end();
} finally {
  await stack?.stop();
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  close();
}

/** Registers the models and what is to be kept running of each. */
async function fill(gateway: Gateway, { url, user, token }: SlurmDouble): Promise<void> {
  await gateway.must("PUT", "/settings/jobsched", { enabled: true, url, user, token, node_aliases: [NODE] });
  for (let spec = 0; spec < specs; spec += 1) {
    const { id } = await gateway.must<Model>("POST", "/models", { model_name: `model-${spec}` });
    const wanted = { partition: "gpu", launch_command: "exec serve", serving_port: FIRST_PORT };
    await gateway.must("PUT", `/models/${id}/managed`, { ...wanted, target_replicas: replicas });
  }
}

function provisionerOf({ adminUrl, adminToken }: Stack): RunningProvisioner {
  // the requests that warm servers up are nobody's to wait for, and would be counted into the next tick
  const variables = { GATEWAY_PROVISIONER_WARMUP_TIMEOUT_SECS: "0" };
  const env = parseLoneProvisionerEnv({
    ...variables,
    GATEWAY_ADMIN_BASE_URL: adminUrl,
    GATEWAY_ADMIN_TOKEN: adminToken,
  });
  return composeProvisioner({
    env,
    ...env,
    holder: randomUUID(),
    log: createLog(),
    fetch: async (request) => {
      calls.management += 1;
      return await fetch(request);
    },
  });
}

async function serve(port: number): Promise<Server> {
  const server = createServer((_request, response) => {
    calls.probes += 1;
    response.end("{}");
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, NODE.ip, resolve);
  });
  return server;
}

function inMs({ median, min, max }: Spread): string {
  return `median ${median.toFixed(0)} ms (${min.toFixed(0)}-${max.toFixed(0)})`;
}

/** Runs a tick and prints what it cost, again when a busy machine lets a call end too late; its time in milliseconds. */
async function report(what: string, provisioner: RunningProvisioner): Promise<number> {
  let failure = "";
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    Object.assign(calls, { management: 0, probes: 0 });
    double.calls.length = 0;
    const startedMs = performance.now();
    const { outcome, error } = await provisioner.tick();
    const tookMs = performance.now() - startedMs;
    failure = error ?? outcome;
    if (outcome !== "ok") continue;
    const counted = `${calls.management} calls of the Management API, ${double.calls.length} of the scheduler, ${calls.probes} probes answered`;
    console.log(`a tick that ${what}: ${tookMs.toFixed(0)} ms, ${counted}`);
    return tookMs;
  }
  throw new Error(`the tick that ${what}: ${failure}`);
}
