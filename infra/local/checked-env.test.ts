/** What a start says of variables that are wrong, whichever part reads them. */
import { describe, expect, it } from "vitest";
import { readCheckedEnv } from "./checked-env.ts";
import { StackEnvError } from "./env.ts";

const WRONG = {
  GATEWAY_DEMO: "maybe",
  GATEWAY_WORKERS: "many",
  GATEWAY_CELLS: "nowhere",
  GATEWAY_UPSTREAM_TIMEOUT_SECS: "soon",
  GATEWAY_JWT_ISSUERS: "{}",
  GATEWAY_MODEL_HEALTH_INTERVAL_SECS: "often",
  DASHBOARD_PASSWORD: "short",
  OIDC_PROVIDERS: "{}",
};

/** The variables that a refusal names, in order. */
function named(env: Readonly<Record<string, string>>): readonly string[] {
  try {
    readCheckedEnv(env);
    return [];
  } catch (error) {
    if (!(error instanceof StackEnvError)) throw error;
    return error.message.split("; ").map((problem) => problem.split(" ", 1)[0] ?? "");
  }
}

describe("a start", () => {
  it("names the malformed variables of launcher, Worker, control service and console at once, each once", () => {
    expect(named(WRONG).toSorted()).toEqual(Object.keys(WRONG).toSorted());
  });

  it.each(Object.entries(WRONG))("names %s alone", (name, value) => {
    expect(named({ [name]: value })).toEqual([name]);
  });

  it("accepts what every part accepts", () => {
    expect(named({ GATEWAY_WORKERS: "2", DASHBOARD_PASSWORD: "long enough" })).toEqual([]);
  });
});
