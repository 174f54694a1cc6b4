/**
 * A model server that batches continuously, as vLLM does: each step decodes one token of every running request and some of
 * the inputs that are new. A step takes longer the more requests run and the longer their contexts are; the KV cache holds
 * so many tokens, and a request that no longer fits is preempted and computed again.
 */
import type { Random } from "../random.ts";

interface ServerPlan {
  /** ms of a step: the larger of reading weights and contexts, and of computing tokens. */
  readonly weightsMs: number;
  readonly contextMsPerToken: number;
  readonly computeMsPerToken: number;
  readonly overheadMs: number;
  readonly kvTokens: number;
  readonly batchMax: number;
  /** Input tokens of one step. */
  readonly chunkTokens: number;
}

export interface Job {
  readonly id: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly arrivedMs: number;
  firstMs: number;
  /** Of the input and of what was preempted: computed so far. */
  computed: number;
  toCompute: number;
  produced: number;
}

export class BatchingServer {
  readonly #plan: ServerPlan;
  readonly #waiting: Job[] = [];
  #running: Job[] = [];
  #nextId = 0;
  nowMs = 0;

  constructor(plan: ServerPlan) {
    this.#plan = plan;
  }

  get load(): number {
    return this.#waiting.length + this.#running.length;
  }

  submit(inputTokens: number, outputTokens: number, arrivedMs: number): number {
    this.#nextId += 1;
    const job = { id: this.#nextId, inputTokens, outputTokens, arrivedMs };
    this.#waiting.push({ ...job, firstMs: 0, computed: 0, toCompute: inputTokens, produced: 0 });
    return job.id;
  }

  /** Runs one step; returns the jobs that ended with it. An idle server lets a ms pass. */
  step(): readonly Job[] {
    const { weightsMs, contextMsPerToken, computeMsPerToken, overheadMs, kvTokens, batchMax, chunkTokens } = this.#plan;
    let held = 0;
    for (const job of this.#running) held += job.toCompute + job.produced;
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (this.#running.length >= batchMax) break;
      if (this.#running.length > 0 && held + next.toCompute + next.produced > kvTokens) break;
      held += next.toCompute + next.produced;
      this.#running.push(next);
      this.#waiting.shift();
    }
    while (held + this.#running.length > kvTokens && this.#running.length > 1) {
      const preempted = this.#running.pop() as Job;
      held -= preempted.toCompute + preempted.produced;
      preempted.toCompute = preempted.inputTokens + preempted.produced;
      preempted.computed = 0;
      this.#waiting.unshift(preempted);
    }
    if (this.#running.length === 0) {
      this.nowMs += 1;
      return [];
    }
    let inputLeft = chunkTokens;
    let tokens = 0;
    const stepping: Job[] = [];
    for (const job of this.#running) {
      if (job.computed < job.toCompute) {
        const part = Math.min(inputLeft, job.toCompute - job.computed);
        inputLeft -= part;
        tokens += part;
        job.computed += part;
        if (job.computed >= job.toCompute) stepping.push(job);
      } else {
        tokens += 1;
        stepping.push(job);
      }
    }
    this.nowMs += overheadMs + Math.max(weightsMs + contextMsPerToken * held, computeMsPerToken * tokens);
    const ended: Job[] = [];
    for (const job of stepping) {
      job.produced += 1;
      if (job.firstMs === 0) job.firstMs = this.nowMs;
      if (job.produced >= job.outputTokens) ended.push(job);
    }
    if (ended.length > 0) this.#running = this.#running.filter((job) => job.produced < job.outputTokens);
    return ended;
  }
}

/** A server and its work, drawn at random. */
export interface ServerWorld {
  readonly server: ServerPlan;
  readonly meanInput: number;
  readonly meanOutput: number;
}

export function drawnWorld(random: Random): ServerWorld {
  const log = (low: number, high: number) => low * (high / low) ** random.next();
  const meanInput = Math.round(log(50, 1500));
  const meanOutput = Math.round(log(20, 200));
  const weightsMs = log(5, 30);
  // The knee of a server is where it computes as long as it reads, where its batch or its cache ends, whichever is first.
  const kneeOf = () => Math.round(log(6, 100));
  return {
    meanInput,
    meanOutput,
    server: {
      weightsMs,
      overheadMs: log(0.5, 4),
      contextMsPerToken: (weightsMs * log(0.05, 0.6)) / (kneeOf() * (meanInput + meanOutput / 2)),
      computeMsPerToken: weightsMs / (kneeOf() * (1 + meanInput / meanOutput)),
      kvTokens: Math.round(kneeOf() * (meanInput + meanOutput)) + 4 * (meanInput + meanOutput),
      batchMax: random.next() < 0.5 ? 256 : Math.max(4, kneeOf()),
      chunkTokens: random.next() < 0.5 ? 512 : 2048,
    },
  };
}

/** Lengths of one request: between a third of the mean and more than twice. */
export function drawnLengths(
  { meanInput, meanOutput }: ServerWorld,
  random: Random,
): readonly [input: number, output: number] {
  const about = (mean: number) => Math.max(1, Math.round(mean * (0.4 + random.gap(0.6))));
  return [Math.min(about(meanInput), 3 * meanInput), Math.min(about(meanOutput), 3 * meanOutput)];
}
