/**
 * Slurm's REST service as it answered when it was recorded (slurm-answers.json: 24.11.5, API v0.0.40 to v0.0.42), over HTTP and
 * with jobs that a test moves on. `test/slurm/recorded.test.ts` compares the recording with a real one.
 */
import { type HttpSink, jsonAnswer, type SinkAnswer, startHttpSink } from "./http-sink.ts";
import RECORDED from "./slurm-answers.json" with { type: "json" };

type ApiVersion = keyof typeof RECORDED;
export const API_VERSIONS = Object.keys(RECORDED) as ApiVersion[];
const TOKEN = "double-token";

interface DoubleJob {
  readonly id: number;
  readonly script: string;
  readonly asked: Readonly<Record<string, unknown>>;
  readonly user: string;
  states: unknown;
  nodes: string;
  reason: string;
}

export class SlurmDouble {
  readonly jobs = new Map<number, DoubleJob>();
  /** Method and path of every call. */
  readonly calls: string[] = [];
  /** Answers the next calls instead of the service: status and text. */
  readonly instead: { readonly status: number; readonly text: string }[] = [];
  /** Submissions are answered with the recorded refusal. */
  refuses = false;
  readonly token = TOKEN;
  readonly user = "gateway";
  url = "";
  #next = 1;

  move(id: number | string, fields: Partial<Pick<DoubleJob, "states" | "nodes" | "reason">>): void {
    Object.assign(this.jobs.get(Number(id)) ?? {}, fields);
  }

  answer({ method, url, headers, body }: Parameters<HttpSink["answer"]>[0]): SinkAnswer {
    this.calls.push(`${method} ${url}`);
    const [, version = "", path = ""] = /^\/slurm\/(v[\d.]+)\/(.*)$/.exec(url) ?? [];
    const forced = this.instead.shift();
    if (forced !== undefined) return { ...jsonAnswer(null, forced.status), body: forced.text };
    if (!(version in RECORDED)) return NOT_FOUND;
    const recorded = RECORDED[version as ApiVersion];
    if (headers["x-slurm-user-token"] !== TOKEN) return recordedAnswer(recorded.unauthenticated);
    const user = String(headers["x-slurm-user-name"]);
    if (method === "POST" && path === "job/submit") {
      if (this.refuses) return recordedAnswer(recorded.refused);
      return recordedAnswer(recorded.submitted, { job_id: this.#accept(JSON.parse(body) as Submitted, user) });
    }
    const id = /^job\/(\d+)$/.exec(path)?.[1];
    if (method === "DELETE" && id !== undefined) {
      this.move(id, { states: ["CANCELLED"] });
      return recordedAnswer(recorded.cancelled);
    }
    const resources = method === "GET" ? RESOURCES[path] : undefined;
    if (resources !== undefined) return jsonAnswer(resources);
    if (method !== "GET" || path !== "jobs") return NOT_FOUND;
    const jobs = [...this.jobs.values()].map((job) => ({ ...recorded.job, ...shownOf(job) }));
    return recordedAnswer(recorded.jobs, { jobs });
  }

  #accept({ script, job }: Submitted, user: string): number {
    const id = this.#next++;
    this.jobs.set(id, { id, script, asked: job, user, states: ["PENDING"], nodes: "", reason: "None" });
    return id;
  }
}

const NOT_FOUND: SinkAnswer = { ...jsonAnswer(null, 404), body: "Unable find requested URL." };

interface Submitted {
  readonly script: string;
  readonly job: Readonly<Record<string, unknown>>;
}

/** What the double has, as far as forms ask for it. */
const RESOURCES: Readonly<Record<string, object>> = {
  partitions: { partitions: [{ name: "gpu", nodes: { total: 2 }, partition: { state: ["UP"] } }] },
  nodes: { nodes: [{ name: "n01", gres: "gpu:a100:4", cpus: 64, real_memory: 512_000, state: ["IDLE"] }] },
};

export async function startSlurmDouble(): Promise<{ readonly double: SlurmDouble; readonly close: () => void }> {
  const double = new SlurmDouble();
  const sink = await startHttpSink((asked) => double.answer(asked));
  double.url = sink.url;
  return { double, close: () => void sink.close() };
}

function shownOf({ id, asked, user, states, nodes, reason }: DoubleJob): object {
  const { name, comment } = asked;
  return { job_id: id, name, comment, user_name: user, job_state: states, nodes, state_reason: reason };
}

function recordedAnswer({ status, body }: { readonly status: number; readonly body: object }, more: object = {}) {
  return jsonAnswer({ ...body, ...more }, status);
}
