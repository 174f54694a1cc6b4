/**
 * Changes of a request on its way upstream, and of the answer on its way back: the interface between the pipeline, which runs
 * every transform in the same way, and the features that need one. A transform is pure. It never sees a body as text: it names
 * top-level members of the client's document and their new values, and everything else stays byte for byte what the client
 * sent.
 */
import type { ModelRecord } from "../../../shared/records.ts";
import type { RouteClass } from "../request/route-class.ts";
import type { JsonDocument } from "../wire/json/document.ts";
import type { ResponseTransform } from "../wire/sse/response-transform.ts";

/** The inputs of a transform. The body is a JSON document: no other body is transformed. */
export interface TransformSubject {
  readonly route: RouteClass;
  readonly model: ModelRecord;
  /** The client reads a stream. */
  readonly stream: boolean;
  readonly document: JsonDocument;
  /** The value of one of the transform's members after the boons, with whole strings; undefined if there is none. */
  readonly member: (name: string) => unknown;
}

/**
 * New values of members of the top level, by name; undefined removes one, bytes are JSON that is written already. `model` is
 * never among them.
 */
export type MemberEdits = ReadonlyMap<string, unknown>;

/** The effect of a transform on one request. */
export interface TransformPlan {
  /** The name of the transform. */
  readonly name: string;
  /** Of the transform's {@link RequestTransform.members}. */
  readonly edits: MemberEdits;
  /**
   * The request can do without it: when an upstream answers 400, it is called again without every such plan, and when that
   * helps, it is not sent them for a while (docs/rules/streams.md#usage-event).
   */
  readonly optional: boolean;
  /**
   * Makes the transform of the answer; null: the answer is not changed. Called once, for the answer that the client gets,
   * if it is a stream.
   */
  readonly response: (() => ResponseTransform) | null;
}

/** One feature's change of requests; keeps no state of any request. */
export interface RequestTransform {
  /** The name under which upstreams that refuse it are remembered; different from every other one. */
  readonly name: string;
  /** Members of a document to which it may give a new value: their places are recorded when a body is read. */
  readonly members: readonly string[];
  /** The plan for this request; null: no change. Called once per request, before the first attempt. */
  plan(subject: TransformSubject): TransformPlan | null;
}

/** Every transform, in the order in which they apply to a request. Answers are transformed in the same order. */
export class Transforms {
  readonly #list: readonly RequestTransform[];
  /** Members to which a transform may give a new value. */
  readonly members: ReadonlySet<string>;

  constructor(list: readonly RequestTransform[]) {
    this.#list = list;
    this.members = new Set(list.flatMap(({ members }) => members));
  }

  /** Whether any transform may give this member of a document a new value. */
  edits(name: string): boolean {
    return this.members.has(name);
  }

  /** The plans for this request; most often none. */
  plan(subject: TransformSubject): readonly TransformPlan[] {
    const plans: TransformPlan[] = [];
    for (const transform of this.#list) {
      const plan = transform.plan(subject);
      if (plan !== null) plans.push(plan);
    }
    return plans;
  }
}
