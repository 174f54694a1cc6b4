/** The scheduler's client against answers that were recorded from a real Slurm, and against odd ones. */
import { expect, it, onTestFinished } from "vitest";
import { API_VERSIONS, type SlurmDouble, startSlurmDouble } from "../../test/harness/slurm-double.ts";
import { ProvisionerError } from "./ports.ts";
import { SlurmScheduler } from "./slurm-scheduler.ts";

const INSTALLATION = "11111111-1111-4111-8111-111111111111";
const COMMENT = `gateway:${INSTALLATION}:22222222-2222-4222-8222-222222222222`;
const MINE = { installationId: INSTALLATION, ids: new Set<string>() };
const SUBMISSION = { script: "#!/bin/bash\n", job: { name: "gateway-m", comment: COMMENT } };

const clientOf = ({ url, user, token }: SlurmDouble, version = "v0.0.40", secret = token): SlurmScheduler =>
  new SlurmScheduler({ url, user, token: secret, api_version: version });

const errorOf = async (call: Promise<unknown>): Promise<string> =>
  await call.then(
    () => "no error",
    (error: unknown) => (error instanceof ProvisionerError ? error.message : `unexpected: ${String(error)}`),
  );

/** A double that listens until the test ends. */
async function startDouble(): Promise<SlurmDouble> {
  const { double, close } = await startSlurmDouble();
  onTestFinished(close);
  return double;
}

it.each(API_VERSIONS)("submits, lists and cancels with %s, and tells refusals", async (version) => {
  const double = await startDouble();
  const client = clientOf(double, version);
  expect(await client.submit(SUBMISSION)).toEqual({ kind: "accepted", jobId: "1" });
  double.move(1, { states: ["RUNNING"], nodes: "n[01-02]" });
  expect(await client.jobs(MINE)).toEqual([
    {
      id: "1",
      phase: "running",
      live: true,
      ending: false,
      state: "RUNNING",
      reason: "",
      nodes: "n[01-02]",
      name: "gateway-m",
      comment: COMMENT,
    },
  ]);
  await client.cancel("1");
  expect(await client.jobs(MINE)).toMatchObject([{ phase: "gone", live: false }]);
  double.refuses = true;
  expect(await client.submit(SUBMISSION)).toEqual({
    kind: "refused",
    reason: "Invalid partition name specified: Batch job submission failed",
  });
  const stranger = clientOf(double, version, "wrong");
  expect(await errorOf(stranger.jobs(MINE))).toMatch(/^scheduler: jobs: Protocol authentication error/);
});

it("lists its own jobs and those that are asked for, and nobody else's", async () => {
  const double = await startDouble();
  const client = clientOf(double);
  for (const comment of [COMMENT, "", "gateway:another:one"]) await client.submit({ ...SUBMISSION, job: { comment } });
  expect((await client.jobs({ ...MINE, ids: new Set(["2"]) })).map(({ id }) => id)).toEqual(["1", "2"]);
});

it("takes no job of another user for its own, though it has the comment of one", async () => {
  const double = await startDouble();
  const { url, token } = double;
  const other = new SlurmScheduler({ url, user: "mallory", token, api_version: "v0.0.40" });
  await other.submit(SUBMISSION);
  await clientOf(double).submit(SUBMISSION);
  const listed = await clientOf(double).jobs(MINE);
  expect(listed.map(({ id }) => id)).toEqual(["2"]);
});

it("skips another owner's unreadable job, and fails on one that may be its own", async () => {
  const double = await startDouble();
  const client = clientOf(double);
  await client.submit({ ...SUBMISSION, job: { comment: "else" } });
  double.move(1, { states: [] });
  expect(await client.jobs(MINE)).toEqual([]);
  expect(await errorOf(client.jobs({ ...MINE, ids: new Set(["1"]) }))).toContain("a job in the list cannot be read");
  await client.submit(SUBMISSION);
  double.move(2, { states: { RUNNING: true } });
  expect(await errorOf(client.jobs(MINE))).toContain("a job in the list cannot be read");
});

it.each([
  [200, "", "not a complete object"],
  [200, '{"jobs": [', "not a complete object"],
  [200, '{"errors": []}', "no list of jobs"],
  [
    200,
    '{"jobs": [], "errors": [{"error_number": 5, "error": "Unable to contact slurm controller"}]}',
    "Unable to contact",
  ],
  [200, '{"jobs": [], "jobs": []}', "a list is there twice"],
  [200, '{"jobs": [{"job_id": 1e308}]}', "cannot be read"],
  [200, '{"jobs": [1, null]}', "cannot be read"],
  [200, '{"jobs": [}', "not a complete object"],
  [502, "<html>", "http 502"],
  [302, "", "http 302"],
])("never takes an odd list for an empty one: %i %s", async (status, text, message) => {
  const double = await startDouble();
  double.instead.push({ status, text });
  expect(await errorOf(clientOf(double).jobs(MINE))).toContain(message);
});

it.each([
  [200, "{}"],
  [200, '{"job_id": 0}'],
  [200, '{"job_id": "12"}'],
  [200, '{"job_id": NaN}'],
  [500, "no"],
  [500, '{"errors": [{"error_number": 5004, "error": "Socket timed out"}]}'],
])("leaves open whether a submission arrived after %i %s", async (status, text) => {
  const double = await startDouble();
  double.instead.push({ status, text });
  expect(await errorOf(clientOf(double).submit(SUBMISSION))).toMatch(/^scheduler: job\/submit: /);
});

it("shows the scheduler's words on one line, without what would act on a terminal", async () => {
  const double = await startDouble();
  const error = `\u001b[31mQuota\nreached\ud800${"x".repeat(10_000)}`;
  double.instead.push({ status: 500, text: JSON.stringify({ errors: [{ error_number: 2066, error }] }) });
  const answer = await clientOf(double).submit(SUBMISSION);
  expect(answer).toMatchObject({
    kind: "refused",
    reason: expect.stringMatching(/^\[31mQuota reached\ufffdx+$/) as string,
  });
  expect(answer.kind === "refused" ? answer.reason.length : 0).toBe(500);
});
