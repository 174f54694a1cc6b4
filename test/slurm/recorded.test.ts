/** The recording that all other tests use (test/harness/slurm-answers.json) says what this Slurm says, in the same shape. */
import { expect, it } from "vitest";
import { SlurmScheduler } from "../../control/provisioner/slurm-scheduler.ts";
import RECORDED from "../harness/slurm-answers.json" with { type: "json" };
import { API_VERSIONS } from "../harness/slurm-double.ts";
import { waitFor } from "../harness/wait-for.ts";
import { cluster } from "./managed-scenario.ts";

const INSTALLATION = "11111111-1111-4111-8111-111111111111";
const JOB = {
  partition: "gpu",
  excluded_nodes: ["n2"],
  nodes: "1",
  tasks: 1,
  current_working_directory: "/tmp",
  environment: ["PATH=/bin"],
};

async function call(
  method: string,
  path: string,
  { body, token = cluster.token() }: { readonly body?: object; readonly token?: string } = {},
): Promise<{ readonly status: number; readonly body: Readonly<Record<string, unknown>> }> {
  const headers = {
    "x-slurm-user-name": cluster.user,
    "x-slurm-user-token": token,
    "content-type": "application/json",
  };
  const response = await fetch(`${cluster.url}/slurm/${path}`, {
    method,
    headers,
    body: body === undefined ? null : JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Readonly<Record<string, unknown>> };
}

/** Names and kinds of values, without the values. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return ["list"];
  if (typeof value !== "object" || value === null) return typeof value;
  const entries = Object.entries(value).map(([name, inner]) => [name, shapeOf(inner)] as const);
  return Object.fromEntries(entries.sort(([left], [right]) => (left < right ? -1 : 1)));
}

it.each(API_VERSIONS)("answers %s as recorded", async (version) => {
  const recorded = RECORDED[version];
  const job = { ...JOB, name: "gateway-recorded", comment: "recorded", requeue: false };
  const submitted = await call("POST", `${version}/job/submit`, { body: { script: "#!/bin/bash\nsleep 60\n", job } });
  expect({ status: submitted.status, shape: shapeOf(submitted.body) }).toEqual({
    status: 200,
    shape: shapeOf(recorded.submitted.body),
  });
  const id = String(submitted.body["job_id"]);
  const shown = await waitFor(
    async () => ((await call("GET", `${version}/job/${id}`)).body["jobs"] as { job_state: string[] }[])[0],
    (entry) => entry?.job_state[0] === "RUNNING",
  );
  const { job_resources: _resources, ...known } = recorded.job;
  expect(shapeOf(shown)).toMatchObject(shapeOf(known) as object);
  const refused = await call("POST", `${version}/job/submit`, {
    body: { script: "#!/bin/bash\n", job: { ...job, partition: "nowhere" } },
  });
  expect({ status: refused.status, errors: refused.body["errors"] }).toEqual({
    status: recorded.refused.status,
    errors: recorded.refused.body.errors,
  });
  const stranger = await call("GET", `${version}/jobs`, { token: "wrong" });
  expect({ status: stranger.status, errors: stranger.body["errors"] }).toEqual({
    status: recorded.unauthenticated.status,
    errors: recorded.unauthenticated.body.errors,
  });
  const cancelled = await call("DELETE", `${version}/job/${id}`);
  expect({ status: cancelled.status, shape: shapeOf(cancelled.body) }).toEqual({
    status: recorded.cancelled.status,
    shape: shapeOf(recorded.cancelled.body),
  });
});

it.each(API_VERSIONS)("is understood by the client with %s", async (api_version) => {
  const { url, user } = cluster;
  const client = new SlurmScheduler({ url, user, token: cluster.token(), api_version });
  const comment = `gateway:${INSTALLATION}:22222222-2222-4222-8222-222222222222`;
  const job = { ...JOB, name: "gateway-client", comment, requeue: false };
  const answer = await client.submit({ script: "#!/bin/bash\nsleep 60\n", job });
  const id = answer.kind === "accepted" ? answer.jobId : "";
  const mine = async () =>
    (await client.jobs({ installationId: INSTALLATION, ids: new Set() })).find((one) => one.id === id);
  const running = await waitFor(mine, (found) => found?.phase === "running");
  expect(running).toMatchObject({ nodes: "n1", name: "gateway-client", comment });
  await client.cancel(id);
  expect(await waitFor(mine, (found) => found?.phase === "gone")).toMatchObject({ live: false });
  await client.cancel("999999");
  expect(await client.submit({ script: "#!/bin/bash\n", job: { ...job, partition: "nowhere" } })).toMatchObject({
    kind: "refused",
  });
});
