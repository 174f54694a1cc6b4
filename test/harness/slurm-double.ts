/**
 * Slurm's REST service as it answered when it was recorded (slurm-answers.json: 24.11.5, API v0.0.40 to v0.0.42), over HTTP and
 * with jobs that a test moves on. `test/slurm/recorded.test.ts` compares the recording with a real one.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { listen } from "../../infra/local/http/listen.ts";
import RECORDED from "./slurm-answers.json" with { type: "json" };

type ApiVersion = keyof typeof RECORDED;
export const API_VERSIONS = Object.keys(RECORDED) as ApiVersion[];
const TOKEN = "double-token";

interface DoubleJob {
  readonly id: number;
  readonly script: string;
  readonly asked: Readonly<Record<string, unknown>>;
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

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "" } = request;
    const body = await text(request);
    this.calls.push(`${method} ${url}`);
    const [, version = "", path = ""] = /^\/slurm\/(v[\d.]+)\/(.*)$/.exec(url) ?? [];
    const forced = this.instead.shift();
    if (forced !== undefined) return send(response, forced.status, forced.text);
    if (!(version in RECORDED)) return send(response, 404, "Unable find requested URL.");
    const recorded = RECORDED[version as ApiVersion];
    if (request.headers["x-slurm-user-token"] !== TOKEN) return sendRecorded(response, recorded.unauthenticated);
    if (method === "POST" && path === "job/submit") {
      if (this.refuses) return sendRecorded(response, recorded.refused);
      return sendRecorded(response, recorded.submitted, { job_id: this.#accept(JSON.parse(body) as Submitted) });
    }
    const id = /^job\/(\d+)$/.exec(path)?.[1];
    if (method === "DELETE" && id !== undefined) {
      this.move(id, { states: ["CANCELLED"] });
      return sendRecorded(response, recorded.cancelled);
    }
    const resources = method === "GET" ? RESOURCES[path] : undefined;
    if (resources !== undefined) return send(response, 200, JSON.stringify(resources));
    if (method !== "GET" || path !== "jobs") return send(response, 404, "Unable find requested URL.");
    const jobs = [...this.jobs.values()].map((job) => ({ ...recorded.job, ...shownOf(job) }));
    sendRecorded(response, recorded.jobs, { jobs });
  }

  #accept({ script, job }: Submitted): number {
    const id = this.#next++;
    this.jobs.set(id, { id, script, asked: job, states: ["PENDING"], nodes: "", reason: "None" });
    return id;
  }
}

interface Submitted {
  readonly script: string;
  readonly job: Readonly<Record<string, unknown>>;
}

/** What the double has, as far as forms ask for it. */
const RESOURCES: Readonly<Record<string, object>> = {
  partitions: { partitions: [{ name: "gpu", nodes: { total: 2 }, partition: { state: ["UP"] } }] },
  nodes: { nodes: [{ name: "n01", gres: "gpu:a100:4", cpus: 64, real_memory: 512_000, state: ["IDLE"] }] },
};

/** A double that listens until it is closed. */
export async function startSlurmDouble(): Promise<{ readonly double: SlurmDouble; readonly close: () => void }> {
  const double = new SlurmDouble();
  const server = createServer((request, response) => void double.answer(request, response));
  const listening = await listen(server, "127.0.0.1", 0);
  double.url = listening.url;
  return { double, close: () => void listening.close() };
}

function shownOf({ id, asked, states, nodes, reason }: DoubleJob): object {
  const { name, comment } = asked;
  return { job_id: id, name, comment, job_state: states, nodes, state_reason: reason };
}

function sendRecorded(
  response: ServerResponse,
  { status, body }: { readonly status: number; readonly body: object },
  more: object = {},
): void {
  send(response, status, JSON.stringify({ ...body, ...more }, null, 2));
}

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { "content-type": "application/json" }).end(body);
}
