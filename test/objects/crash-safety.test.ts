/**
 * Faults at each of the nine steps of a request (docs/architecture.md#one-request): no slot stays held and no tokens
 * stay reserved, a request that has reached the Cell has exactly one row, and its budget was charged what the row says.
 * Cell, Ledger and budget are real; the faults are in the other ports. Faults while an answer is relayed are in
 * crash-relay.test.ts, a Cell that is reset in cell-reset.test.ts.
 */
import { describe, expect, it } from "vitest";
import { modelOf } from "../harness/edge/pipeline/records.ts";
import { mainRows } from "../harness/main-rows.ts";
import { type Act, broken, type CrashScene, playCrash } from "./crash-scene.ts";

/** What the runtime throws for a call whose connection broke. */
function disconnected(): never {
  throw Object.assign(new Error("Network connection lost."), { retryable: true });
}

const acts: readonly Act[] = [
  {
    what: "1 receive: throws",
    arrange: (scene) => scene.override({ random: { uuid: broken, fraction: () => 0 } }),
    answer: null,
    left: null,
  },
  { what: "1 receive: client gone", arrange: (scene) => scene.client.abort(), answer: null, left: [499, "nothing"] },
  {
    what: "2 authenticate: throws",
    arrange: (scene) => scene.directory({ key: broken }),
    answer: 500,
    left: [500, "nothing"],
  },
  {
    what: "2 authenticate: client gone",
    arrange: (scene) =>
      scene.directory({
        key: async (hash) => {
          scene.client.abort();
          return await scene.ports.directory.key(hash);
        },
      }),
    answer: null,
    left: [499, "nothing"],
  },
  {
    what: "3 resolve-model: throws",
    arrange: (scene) => scene.directory({ model: broken }),
    answer: 500,
    left: [500, "nothing"],
  },
  {
    what: "3 resolve-model: client gone in the middle of its body",
    arrange: hangUp,
    answer: null,
    left: [499, "nothing"],
  },
  {
    what: "3 resolve-model: client gone after its body",
    arrange: (scene) =>
      scene.directory({
        model: async (name) => {
          scene.client.abort();
          return await scene.ports.directory.model(name);
        },
      }),
    answer: null,
    left: [499, "nothing"],
  },
  { what: "4 prepare: throws", arrange: (scene) => preparing(scene, broken), answer: 500, left: [500, "nothing"] },
  {
    what: "4 prepare: client gone",
    arrange: (scene) => preparing(scene, () => scene.client.abort()),
    answer: null,
    left: [499, "nothing"],
  },
  { what: "5 cache: throws", arrange: (scene) => lookingUp(scene, broken), answer: 500, left: [500, "nothing"] },
  {
    what: "5 cache: client gone",
    arrange: (scene) => lookingUp(scene, () => scene.client.abort()),
    answer: null,
    left: [499, "nothing"],
  },
  {
    what: "6 admit: throws before the Cell is reached",
    arrange: (scene) => {
      scene.cell.beforeAdmit = broken;
    },
    answer: 500,
    left: [500, "nothing"],
  },
  {
    what: "6 admit: the Cell is out of reach",
    arrange: (scene) => {
      scene.unreachable = true;
    },
    answer: 503,
    left: [503, "nothing"],
  },
  {
    what: "6 admit: the answer that it is granted is lost",
    arrange: (scene) => {
      scene.cell.answering = disconnected;
    },
    answer: 200,
    left: [200, "estimate"],
  },
  {
    what: "6 admit: the answer that it waits is lost",
    arrange: (scene) => {
      scene.full = true;
      scene.cell.answering = disconnected;
      scene.cell.answeringAgain = () => scene.makeRoom();
    },
    answer: 200,
    left: [200, "estimate"],
  },
  {
    what: "6 admit: the answer that it is granted is lost by a defect",
    arrange: (scene) => {
      scene.cell.answering = broken;
    },
    answer: 503,
    left: [503, "nothing"],
  },
  {
    what: "6 admit: the answer that it waits is lost by a defect",
    arrange: (scene) => {
      scene.full = true;
      scene.cell.answering = broken;
    },
    answer: 503,
    left: [503, "nothing"],
  },
  {
    what: "6 admit: its session breaks while it waits, and the Cell's next answer is lost",
    arrange: (scene) => {
      scene.full = true;
      scene.cell.afterAdmit = () => scene.breakSession();
      scene.cell.answeringAgain = () => {
        scene.makeRoom();
        disconnected();
      };
    },
    answer: 200,
    left: [200, "estimate"],
  },
  {
    what: "6 admit: its session breaks while it waits, and its client is gone when it waits again",
    arrange: (scene) => {
      scene.full = true;
      scene.cell.afterAdmit = () => scene.breakSession();
      scene.cell.answeringAgain = () => scene.client.abort();
    },
    answer: null,
    left: [499, "nothing"],
  },
  {
    what: "6 admit: the Cell gets out of reach while it waits",
    arrange: (scene) => {
      scene.full = true;
      scene.cell.afterAdmit = () => {
        scene.unreachable = true;
        scene.breakSession();
      };
    },
    answer: 503,
    left: [503, "nothing"],
  },
  {
    what: "6 admit: client gone while it waits",
    arrange: (scene) => {
      scene.full = true;
      scene.cell.afterAdmit = () => scene.client.abort();
    },
    answer: null,
    left: [499, "nothing"],
  },
  {
    what: "6 admit: client gone as it is granted",
    arrange: (scene) => {
      scene.cell.afterAdmit = () => scene.client.abort();
    },
    answer: null,
    left: [499, "nothing"],
  },
  {
    what: "7 forward: throws before the upstream is called",
    arrange: (scene) => {
      scene.world.model = modelOf({ api_key: "sealed" });
      scene.override({ secrets: { open: broken } });
    },
    answer: 502,
    left: [502, "nothing"],
  },
  {
    what: "7 forward: no answer",
    arrange: (scene) => {
      scene.world.upstream = async () => broken();
    },
    answer: 502,
    left: [502, "nothing"],
  },
  {
    what: "7 forward: client gone while the upstream thinks",
    arrange: (scene) => {
      scene.world.upstream = async ({ signal }) => {
        scene.client.abort();
        signal.throwIfAborted();
        return Response.json({});
      };
    },
    answer: null,
    left: [499, "estimate"],
  },
  {
    what: "7 forward: its session breaks while the upstream thinks",
    arrange: (scene) => thinking(scene, () => scene.breakSession()),
    answer: 200,
    left: [200, "estimate"],
  },
  {
    what: "9 settle: is not heard",
    arrange: (scene) => {
      scene.cell.beforeSettle = broken;
    },
    answer: 200,
    left: [200, "estimate"],
  },
  {
    what: "9 settle: is heard, and its acknowledgement lost",
    arrange: (scene) => {
      scene.cell.afterSettle = broken;
    },
    answer: 200,
    left: [200, "estimate"],
  },
  {
    what: "9 settle: is not heard, and the Cell beyond reach",
    arrange: (scene) => {
      scene.cell.beforeSettle = () => {
        scene.unreachable = true;
        broken();
      };
    },
    answer: 200,
    left: [200, "estimate"],
  },
  {
    what: "9 settle: client gone after the last byte",
    arrange: (scene) => {
      scene.cell.beforeSettle = () => scene.client.abort();
    },
    answer: 200,
    left: [200, "estimate"],
  },
];

/** The client sends a part of its body and leaves. */
function hangUp(scene: CrashScene): void {
  const parts = [new TextEncoder().encode('{"model":')];
  const body = new ReadableStream({
    type: "bytes",
    pull: (controller) => {
      const part = parts.shift();
      if (part !== undefined) {
        controller.enqueue(part);
        return;
      }
      scene.client.abort();
      controller.error(new Error("the connection was reset"));
    },
  });
  scene.init = { body };
}

/** Something happens before the upstream answers. */
function thinking(scene: CrashScene, happens: () => void): void {
  const { upstream } = scene.world;
  scene.world.upstream = async (call) => {
    happens();
    return await upstream(call);
  };
}

function preparing(scene: CrashScene, happens: () => void): void {
  Object.defineProperty(scene.config, "sessionIdDerivation", {
    get: () => {
      happens();
      return true;
    },
  });
}

function lookingUp(scene: CrashScene, happens: () => void): void {
  scene.world.model = modelOf({ cache_enabled: true });
  scene.override({
    responseCache: {
      lookup: async () => {
        happens();
        return null;
      },
      store: () => undefined,
    },
  });
}

/** One of each part of the way: before the upstream, there, and after it. `npm test` leaves out the others. */
const MAIN = ["6 admit: client gone while it waits", "7 forward: no answer", "9 settle: is not heard"];
const mainFirst = acts.toSorted((a, b) => Number(MAIN.includes(b.what)) - Number(MAIN.includes(a.what)));

describe("a request that goes wrong at step", () => {
  mainRows(MAIN.length, it.concurrent)(mainFirst.map((act) => [act.what, act] as const))("%s", async (_, act) => {
    await playCrash(act);
  });

  it("has a test for each of the nine steps", () => {
    expect(new Set(acts.map(({ what }) => what.slice(0, 1)))).toEqual(
      new Set(["1", "2", "3", "4", "5", "6", "7", "9"]),
    );
  });
});
