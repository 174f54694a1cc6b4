/**
 * The REST service of Slurm, API v0.0.40 to v0.0.42, as the provisioner uses it (docs/rules/provisioner.md#scheduler-calls).
 * Every answer may be anything; one that cannot be understood throws, so that it holds the tick.
 */
import type { Response } from "undici";
import { z } from "zod";
import { INFRASTRUCTURE_POLICY } from "../../shared/network/ssrf.ts";
import { oneLine } from "../../shared/text/printable.ts";
import { fetchReading, OutboundError } from "../kernel/outbound/bounded-fetch.ts";
import { type BatchJob, idOf, readJob } from "./core/job.ts";
import type { Submission } from "./core/job-object.ts";
import { type SchedulerAccess, schedulerHeaders } from "./jobsched/scheduler-ping.ts";
import { JsonListError, JsonLists } from "./json-lists.ts";
import { ProvisionerError, type SchedulerPort, type SubmitAnswer } from "./ports.ts";

const TIMEOUT_MS = 10_000;
/** Some 50,000 jobs of 8 KB each. */
const JOBS_MAX_BYTES = 512 * 1024 * 1024;
const JOB_MAX_BYTES = 1024 * 1024;
const ANSWER_MAX_BYTES = 1024 * 1024;
const REASON_MAX = 500;
/** Numbers of errors with which Slurm refuses a job, as against those of its connections. */
const REFUSED_FROM = 2000;
const REFUSED_BELOW = 3000;
const NO_SUCH_JOB = 2017;
const ALREADY_ENDED = 2021;
/** The service's own status when the scheduler does not know the token. */
const NOT_AUTHENTICATED = 511;

const errorSchema = z.object({
  error_number: z.number().int().catch(0),
  error: z.string().catch(""),
  description: z.string().catch(""),
});
type SchedulerFault = z.infer<typeof errorSchema>;

const answerSchema = z.object({
  errors: z.array(errorSchema.catch({ error_number: 0, error: "", description: "" })).catch([]),
  job_id: z.unknown().optional(),
  job_submit_user_msg: z.string().catch(""),
});
type SchedulerAnswer = z.infer<typeof answerSchema>;

export class SlurmScheduler implements SchedulerPort {
  readonly #access: SchedulerAccess;

  constructor(access: SchedulerAccess) {
    this.#access = access;
  }

  async jobs({ installationId, ids }: Parameters<SchedulerPort["jobs"]>[0]): Promise<readonly BatchJob[]> {
    const jobs: BatchJob[] = [];
    const faults: SchedulerFault[] = [];
    const mark = `gateway:${installationId}:`;
    const onEntry = (name: string, entry: unknown): void => {
      if (name === "errors")
        faults.push(errorSchema.catch({ error_number: 0, error: "", description: "" }).parse(entry));
      else jobs.push(...ownJob(entry, { mark, ids, user: this.#access.user }));
    };
    await this.#call("GET", "jobs", null, async (response) => {
      const lists = new JsonLists({ names: ["jobs", "errors"], entryMaxBytes: JOB_MAX_BYTES, onEntry });
      let bytes = 0;
      try {
        for await (const chunk of response.body ?? []) {
          bytes += chunk.byteLength;
          if (bytes > JOBS_MAX_BYTES) throw new OutboundError("answer too large");
          lists.push(chunk);
        }
        if (!response.ok || faults.length > 0) throw failure(response.status, faults[0]);
        if (!lists.end().has("jobs")) throw new OutboundError("no list of jobs");
      } catch (error) {
        if (!response.ok) throw failure(response.status, faults[0]);
        throw error instanceof JsonListError ? new OutboundError(error.message) : error;
      }
    });
    return jobs;
  }

  async submit(submission: Submission): Promise<SubmitAnswer> {
    const { status, answer } = await this.#ask("POST", "job/submit", JSON.stringify(submission));
    const fault = answer.errors[0];
    const jobId = idOf(answer.job_id);
    if (isSuccess(status) && fault === undefined && jobId !== null) return { kind: "accepted", jobId };
    const isRefused = fault !== undefined && fault.error_number >= REFUSED_FROM && fault.error_number < REFUSED_BELOW;
    const isTurnedAway = (status >= 400 && status < 500) || status === NOT_AUTHENTICATED;
    if (!isRefused && !isTurnedAway)
      throw new ProvisionerError(`scheduler: job/submit: ${reasonOf(status, fault, "")}`, status);
    return { kind: "refused", reason: reasonOf(status, fault, answer.job_submit_user_msg) };
  }

  async cancel(jobId: string): Promise<void> {
    const { status, answer } = await this.#ask("DELETE", `job/${encodeURIComponent(jobId)}`, null);
    const fault = answer.errors[0];
    if (isSuccess(status) && fault === undefined) return;
    if (fault?.error_number === NO_SUCH_JOB || fault?.error_number === ALREADY_ENDED) return;
    throw new ProvisionerError(`scheduler: cancel: ${reasonOf(status, fault, "")}`, status);
  }

  async #ask(
    method: "POST" | "DELETE",
    path: string,
    body: string | null,
  ): Promise<{ readonly status: number; readonly answer: SchedulerAnswer }> {
    return await this.#call(method, path, body, async (response) => {
      const chunks: Uint8Array[] = [];
      let bytes = 0;
      for await (const chunk of response.body ?? []) {
        bytes += chunk.byteLength;
        if (bytes > ANSWER_MAX_BYTES) throw new OutboundError("answer too large");
        chunks.push(chunk);
      }
      return { status: response.status, answer: answerOf(Buffer.concat(chunks).toString("utf8")) };
    });
  }

  async #call<T>(
    method: "GET" | "POST" | "DELETE",
    path: string,
    body: string | null,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const { url, api_version } = this.#access;
    const json = body === null ? {} : { "content-type": "application/json" };
    const call = {
      url: `${url}/slurm/${api_version}/${path}`,
      timeoutMs: TIMEOUT_MS,
      headers: { accept: "application/json", ...json, ...schedulerHeaders(this.#access) },
      policy: INFRASTRUCTURE_POLICY,
    };
    try {
      return await fetchReading(call, { method, body }, read);
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      const what = path.startsWith("job/") && method === "DELETE" ? "cancel" : path;
      throw new ProvisionerError(`scheduler: ${what}: ${error.message}`, error.status);
    }
  }
}

/** What tells our jobs: the start of their comments, their numbers, and whose they are. */
interface OwnMarks {
  readonly mark: string;
  readonly ids: ReadonlySet<string>;
  readonly user: string;
}

/**
 * A job that may concern us. Everybody can read our comments in the scheduler's list, so a comment counts only on a job of our
 * user. Throws OutboundError for an entry that may be one and cannot be read.
 */
function ownJob(entry: unknown, { mark, ids, user }: OwnMarks): readonly BatchJob[] {
  const fields =
    typeof entry === "object" && entry !== null ? new Map(Object.entries(entry)) : new Map<string, unknown>();
  const id = idOf(fields.get("job_id"));
  const owner = fields.get("user_name") ?? "";
  const isMarked = String(fields.get("comment")).startsWith(mark) && (owner === "" || owner === user);
  if (id !== null && !ids.has(id) && !isMarked) return [];
  const job = readJob(entry);
  if (job === null) throw new OutboundError("a job in the list cannot be read");
  return [job];
}

function answerOf(text: string): SchedulerAnswer {
  const nothing = { errors: [], job_submit_user_msg: "" };
  try {
    return answerSchema.catch(nothing).parse(JSON.parse(text));
  } catch {
    return nothing;
  }
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

function failure(status: number, fault: SchedulerFault | undefined): OutboundError {
  return new OutboundError(reasonOf(status, fault, ""), status);
}

/** The scheduler's own text, which says what an administrator has to change. */
function reasonOf(status: number, fault: SchedulerFault | undefined, userMessage: string): string {
  const parts = [fault?.error ?? "", fault?.description ?? "", userMessage].filter((part) => part.trim() !== "");
  const text = parts.length === 0 ? `http ${status}` : parts.join(": ");
  return Array.from(
    oneLine(text.slice(0, 4 * REASON_MAX))
      .trim()
      .toWellFormed(),
  )
    .slice(0, REASON_MAX)
    .join("");
}
