/**
 * A grant that an isolate receives in one session while the opening message of the next session is on its way. That message
 * does not name the request as running, and reaches the Cell after a reset.
 */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { zeroUsageRow } from "../../../shared/usage/usage-row.ts";
import { MembersHarness, requestOf } from "../../../test/harness/edge/cell/members-harness.ts";
import { playContexts } from "../../../test/harness/played-isolate.ts";
import type { ExchangeMessage, SessionOpening } from "../../domain/admission/exchange-messages.ts";
import { type AdmissionStubs, CellAdmission } from "./cell-admission.ts";
import { MemberAdmission } from "./member-admission.ts";

beforeEach(() => {
  vi.useFakeTimers();
  playContexts();
});
afterEach(() => void vi.unstubAllGlobals());

/** A call waits here until it is opened. */
class Gate {
  #opened = Promise.resolve();
  open: () => void = () => undefined;

  close(): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#opened = promise;
    this.open = resolve;
  }

  async passed(): Promise<void> {
    await this.#opened;
  }
}

/** One isolate and its Cell of two slots, whose calls a test holds up. */
class World {
  life = new MembersHarness(2);
  readonly openings = new Gate();
  readonly answers = new Gate();
  readonly #first = this.life;
  readonly #reset = Promise.withResolvers<never>();
  readonly admission: MemberAdmission;

  constructor() {
    this.#reset.promise.catch(() => undefined);
    const stubs = { cell: () => ({ openSession: this.#open }), ledger: () => ({}) } as unknown as AdmissionStubs;
    const [alerts, log] = [{ raise: () => undefined }, { event: () => undefined }];
    const direct = new CellAdmission({ stubs, cell: "c", shards: 1, alerts, log });
    this.admission = new MemberAdmission({
      member: "isolate",
      clock: Date.now,
      keepAlive: () => undefined,
      log,
      direct,
    });
  }

  async pass(ms: number): Promise<void> {
    await this.life.pass(ms);
  }

  async admit(id: string) {
    const asking = this.admission.admit(requestOf(id));
    await this.pass(0);
    const answer = await asking;
    if (answer.verdict === "stale") throw new Error("stale");
    return answer.permit;
  }

  /** Messages on their way arrive at the next life, but not those that the sessions of the first one carry. */
  async reset(): Promise<void> {
    this.life = new MembersHarness(2, ["isolate"]);
    this.openings.open();
    await this.pass(2);
    this.answers.open();
    await this.pass(1);
    this.#reset.reject(new Error("reset"));
    await this.pass(3_000);
  }

  readonly #open = async (member: SessionOpening, opening: ExchangeMessage) => {
    await this.openings.passed();
    const { life } = this;
    const { session, answer } = life.members.open(member, opening);
    const isLost = () => life === this.#first && this.life !== life;
    const alive = async <T>(work: () => T | Promise<T>): Promise<T> => {
      if (isLost()) throw new Error("reset");
      return await work();
    };
    const exchange = async (message: ExchangeMessage) => {
      const answered = await alive(() => life.members.exchange(session, message));
      await this.answers.passed();
      return answered;
    };
    const news = async () =>
      await (life === this.#first
        ? Promise.race([life.members.news(session), this.#reset.promise])
        : life.members.news(session));
    const close = async () => await alive(() => life.members.end(session));
    return { answer, session: { exchange, news, close, [Symbol.dispose]: () => undefined } };
  };
}

const endOf = (id: string) => ({ row: { ...zeroUsageRow(id, 0), status_code: 200 }, actualTokens: 1 });

it.each(["waits", "has just asked"])(
  "is counted by the next life when the opening says that its request %s",
  async (stands) => {
    const world = new World();
    const first = await world.admit("first");
    await world.admit("second");
    const waits = stands === "waits";
    if (waits) await world.admit("late");
    if (waits) world.life.world.admission.apply({ type: "capacity", maxInFlight: 1 });
    void first.settle(endOf("first"));
    await world.pass(3_500);
    let isGranted = waits;
    if (!waits) {
      world.answers.close();
      void world.admission.admit(requestOf("late")).then(({ verdict }) => {
        isGranted = verdict === "granted";
      });
      await world.pass(300);
    }
    world.openings.close();
    await world.pass(1_500);
    if (waits) world.life.world.admission.apply({ type: "capacity", maxInFlight: 2 });
    await world.pass(5);
    await world.reset();
    expect({ isGranted, atNextLife: world.life.world.stateOf("late") }).toEqual({
      isGranted: true,
      atNextLife: "running",
    });
  },
);
