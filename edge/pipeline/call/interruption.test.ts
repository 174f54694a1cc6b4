import { describe, expect, it } from "vitest";
import { GatewayError } from "../../../shared/errors.ts";
import { ClientGone } from "./client-gone.ts";
import { Interruption } from "./interruption.ts";

/** An interruption with a watch that counts how often it was started and ended. */
function watched() {
  const counts = { started: 0, ended: 0 };
  const interruption = new Interruption();
  interruption.watch(() => {
    counts.started += 1;
    return () => {
      counts.ended += 1;
    };
  });
  return { interruption, counts };
}

const nothing = (): void => undefined;

describe("what watches for a reason to interrupt", () => {
  it("runs from the first listener to the last one, those of sub-calls included", () => {
    const { interruption, counts } = watched();
    expect(counts).toEqual({ started: 0, ended: 0 });
    const first = interruption.listen(nothing);
    const ofSubCall = new Interruption(interruption).listen(nothing);
    first();
    expect(counts).toEqual({ started: 1, ended: 0 });
    ofSubCall();
    expect(counts).toEqual({ started: 1, ended: 1 });
    interruption.listen(nothing)();
    expect(counts).toEqual({ started: 2, ended: 2 });
  });

  it("ends with the interruption, once", () => {
    const { interruption, counts } = watched();
    const callOff = interruption.listen(nothing);
    interruption.interrupt(new GatewayError("api_key_disabled"));
    callOff();
    interruption.listen(nothing)();
    expect({ ...counts, code: interruption.failure?.code }).toEqual({ started: 1, ended: 1, code: "api_key_disabled" });
  });

  it("ends a wait for work that continues, and is no part of one that has ended", async () => {
    const interruption = new Interruption();
    expect(await interruption.until(Promise.resolve(7))).toBe(7);
    const waiting = interruption.until(new Promise(nothing));
    interruption.interrupt(new GatewayError("api_key_disabled"));
    await expect(waiting).rejects.toThrow(ClientGone);
  });
});
