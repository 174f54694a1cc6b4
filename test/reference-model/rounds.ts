/** Rounds of random calls. Each round makes tenants, keys and models of its own, and follows from the seed. */
import { setTimeout as pause } from "node:timers/promises";
import type { Bench } from "./bench.ts";
import type { Dice } from "./dice.ts";
import { type Budget, type Call, type Key, type Model, NO_PARTS, type Owner, type Rates } from "./facts.ts";
import { attempt, planCall, randomUsage } from "./plan.ts";
import { type ModelWorld, randomPrices } from "./world.ts";

export interface Round {
  readonly name: string;
  readonly dice: Dice;
  readonly bench: Bench;
  readonly world: ModelWorld;
}

const CLIENTS = 6;
const CALLS = 80;
/** Of rounds in which a part is away. */
const ARRIVING = { calls: 120, gapMs: 40 };

/** Limits that nobody reaches. */
const AMPLE: Rates = { tokens: 1e9, requests: 1e6 };

interface Mixed {
  readonly calls: readonly Call[];
  /** A model and a key that may be changed. */
  readonly changed: { readonly model: Model; readonly key: Key };
}

/** Good and bad calls on every route, of tenants of all kinds to models of all kinds. */
async function mixedCalls({ name, dice, world }: Round, how: { readonly isFault: boolean }): Promise<Mixed> {
  const models = [
    await world.model(randomPrices(dice)),
    await world.model({ ...randomPrices(dice), api_dialect: "anthropic" }),
    await world.model({ ...randomPrices(dice), cache_enabled: true }),
    await world.model({ ...randomPrices(dice), max_retries: dice.between(1, 2) }),
    await world.model({ ...randomPrices(dice), request_timeout_secs: how.isFault ? null : 1 }),
  ];
  const tenants = [
    await world.tenant({ weight: dice.between(1, 300), rates: AMPLE }),
    await world.tenant(),
    await world.tenant({ allowed: models.slice(0, 2).map((model) => model.name) }),
  ];
  const keys: Key[] = [];
  for (const tenant of tenants) keys.push(await world.key(tenant));
  for (const tenant of tenants) keys.push(await world.key(tenant, dice.pick([AMPLE, undefined])));
  const [model, cached] = models as [Model, Model];
  const plans = dice.fork(1);
  const options = { mayBeWrong: true, ...(how.isFault ? { delaysMs: [0, 50, 300, 900] } : {}) };
  const callOf = (at: number): Call => {
    const id = `${name}/${at}`;
    if (!plans.once(4)) return planCall(plans, id, plans.pick(keys), plans.pick(models), options);
    const route = plans.pick(["chat", "embeddings", "responses"] as const);
    return planCall(plans, id, keys[0] as Key, cached, { route, repeated: `${name} again ${plans.between(1, 2)}` });
  };
  const calls = Array.from({ length: how.isFault ? ARRIVING.calls : CALLS }, (_, at) => callOf(at));
  return { calls, changed: { model, key: keys[4] as Key } };
}

/** Calls while prices, weights, keys, tenants and models change. */
export async function mixedRound(round: Round): Promise<void> {
  const { dice, bench, world } = round;
  const { calls, changed } = await mixedCalls(round, { isFault: false });
  const { model, key } = changed;
  let isOver = false;
  const changes = dice.fork(2);
  const change = async (): Promise<void> => {
    while (!isOver) {
      await pause(changes.between(20, 200));
      const what = changes.between(1, 5);
      if (what === 1) await world.changeModel(model, randomPrices(changes));
      if (what === 2) await world.changeModel(model, { enabled: !model.config.now.enabled });
      if (what === 3) await world.changeWeight(key.tenant, changes.between(1, 500));
      if (what === 4) await world.changeDisabled(key, !key.disabled.now);
      if (what === 5) await world.changeStatus(key.tenant, key.tenant.status.now === "active" ? "suspended" : "active");
    }
  };
  const changing = change();
  await bench.each(calls, CLIENTS);
  isOver = true;
  await changing;
}

/** Calls that arrive one after another, while a part is away. */
export async function faultRound(round: Round, fault: () => Promise<void>): Promise<void> {
  const { calls } = await mixedCalls(round, { isFault: true });
  await Promise.all([round.bench.arriving(calls, ARRIVING.gapMs), fault()]);
}

/** Clients that leave at every moment of a call. */
export async function leaversRound({ name, dice, bench, world }: Round): Promise<void> {
  const model = await world.model(randomPrices(dice));
  const ofMessages = await world.model({ ...randomPrices(dice), api_dialect: "anthropic" });
  const keys = [await world.key(await world.tenant()), await world.key(await world.tenant())];
  const calls = Array.from({ length: 24 }, (_, at) => {
    const pieces = dice.between(1, 30);
    const leave = dice.pick([
      { when: "half" },
      { when: "sent" },
      { when: "after", ms: dice.between(0, 22) },
      { when: "pieces", pieces },
    ] as const);
    const stream = leave.when === "pieces";
    const route = stream ? dice.pick(["chat", "completions", "responses", "messages"] as const) : "chat";
    const limits = dice.pick([{}, { max_tokens: dice.between(1, 2000) }]);
    const script = [attempt({ pieces, end: "hold" })];
    return planCall(dice, `${name}/${at}`, dice.pick(keys), route === "messages" ? ofMessages : model, {
      route,
      stream,
      leave,
      script,
      ...(route === "responses" ? {} : { limits }),
    });
  });
  await bench.each(calls, CLIENTS);
}

/** A budget that nobody uses up. */
const AMPLE_BUDGET: Budget = { tokens: null, costUsd: 1e6 };

/** Calls on the routes whose usage has parts, to models with prices of all kinds. What they cost is used of a budget. */
export async function pricedRound({ name, dice, bench, world }: Round): Promise<void> {
  const byTokens = { cost_per_image: 0, input_cost_per_second: 0 };
  const models = [
    await world.model(randomPrices(dice)),
    await world.model({ ...randomPrices(dice), api_dialect: "anthropic" }),
    await world.model({ ...randomPrices(dice), ...byTokens, output_cost_per_token: 1e-6 }),
  ];
  const tenant = await world.tenant();
  await world.changeBudget(tenant, AMPLE_BUDGET);
  const key = await world.key(tenant);
  const routes = ["chat", "messages", "responses", "images", "transcriptions"] as const;
  const calls = Array.from({ length: CALLS }, (_, at) =>
    planCall(dice, `${name}/${at}`, key, dice.pick(models), { route: dice.pick(routes) }),
  );
  await bench.each(calls, CLIENTS);
}

const TOKENS = [20_000, 8_000, 60_000];
const USD = [0.05, 0.02];
const HITS = 13;

/**
 * Tenants and keys with caps, each with one client that sends one call after another to an upstream that uses more than was
 * estimated. Caps are raised and lowered between calls.
 */
export async function cappedRound({ name, dice, bench, world }: Round): Promise<void> {
  const prices = { ...randomPrices(dice), input_cost_per_token: 1e-6, output_cost_per_token: 1e-6 };
  const model = await world.model(prices);
  await Promise.all(
    Array.from({ length: 4 }, async (_, at) => {
      const own = dice.fork(at);
      const tenant = await world.tenant();
      const key = await world.key(tenant);
      const owner: Owner = at % 2 === 0 ? tenant : key;
      await world.changeBudget(owner, randomBudget(own));
      for (let call = 0; call < 30; call += 1) {
        if (call % 10 === 9) await changeCap(own, world, bench, owner, tenant.id);
        const usage = randomUsage(own, 4, own.pick(["far", "far", "right"]));
        const script = [attempt({ usage })];
        const limits = { max_tokens: own.between(1, 20) };
        await bench.call(planCall(own, `${name}/${at}-${call}`, key, model, { route: "chat", script, limits }));
      }
    }),
  );
}

const RATES = { tokens: [0, 0, 300, 8_000, 60_000, 600_000], requests: [0, 0, 6, 20, 120, 600] };
const randomRates = (dice: Dice): Rates => ({ tokens: dice.pick(RATES.tokens), requests: dice.pick(RATES.requests) });
/** What is told to wait for at most so long is waited for. */
const WAITED_MS = 1_500;

/**
 * Tenants and keys with limits per minute, each tenant with one client that sends one call after another: calls of every size and
 * end, hits, and refusals. Some refused ones come again when they were told to. Limits are changed between calls.
 */
export async function ratedRound({ name, dice, bench, world }: Round): Promise<void> {
  const prices = { input_cost_per_token: 1e-6, output_cost_per_token: 1e-6 };
  const [model, cached] = [await world.model(prices), await world.model({ ...prices, cache_enabled: true })];
  await Promise.all(
    Array.from({ length: 4 }, async (_, at) => {
      const own = dice.fork(at);
      const tenant = await world.tenant({ rates: randomRates(own) });
      const keys = [await world.key(tenant, randomRates(own)), ...(own.once(2) ? [await world.key(tenant)] : [])];
      for (let call = 0; call < 30; call += 1) {
        if (call % 12 === 11) await world.changeRates(own.pick([tenant, ...keys]), randomRates(own));
        const id = `${name}/${at}-${call}`;
        const key = own.pick(keys);
        const { got } = await bench.call(ratedCall(own, id, key, { model, cached, name }));
        const waitMs = Number(got.headers["retry-after-ms"] ?? 0);
        if (waitMs <= WAITED_MS && own.once(2)) await pause(waitMs);
        else await pause(own.pick([0, 0, 0, 30, 200]));
      }
    }),
  );
}

function ratedCall(
  dice: Dice,
  id: string,
  key: Key,
  { model, cached, name }: { readonly model: Model; readonly cached: Model; readonly name: string },
): Call {
  const limits = { max_tokens: dice.pick([1, 20, 100, 1_000]) };
  const usage = randomUsage(dice, 4, dice.pick(["far", "right", "right", "right"]));
  const what = dice.between(1, 10);
  if (what === 1) return planCall(dice, id, key, cached, { route: "chat", repeated: `${name} again` });
  if (what === 2) return planCall(dice, id, key, model, { route: "chat", mayBeWrong: true, limits });
  if (what === 3) return planCall(dice, id, key, model, { route: "models" });
  if (what === 4) {
    const script = [attempt({ status: dice.pick([404, 429, 500]) })];
    return planCall(dice, id, key, model, { route: "chat", limits, script });
  }
  if (what === 5) {
    const pieces = dice.between(1, 8);
    const script = [attempt({ pieces, usage, end: "hold" })];
    const leave = { when: "pieces", pieces } as const;
    return planCall(dice, id, key, model, { route: "chat", stream: true, limits, script, leave });
  }
  return planCall(dice, id, key, model, { route: "chat", limits, script: [attempt({ usage })] });
}

function randomBudget(dice: Dice): Budget {
  return dice.once(2) ? { tokens: dice.pick(TOKENS), costUsd: null } : { tokens: null, costUsd: dice.pick(USD) };
}

/** Sets the cap below, near or far above what is used, or starts a new period. */
async function changeCap(dice: Dice, world: ModelWorld, bench: Bench, owner: Owner, tenantId: string): Promise<void> {
  const used = bench
    .done()
    .filter(({ call }) => call.key?.tenant.id === tenantId)
    .reduce(
      (sum, { served }) => sum + (served.at(-1)?.plan.usage?.output ?? 0) + (served.at(-1)?.plan.usage?.input ?? 0),
      0,
    );
  const tokens = Math.max(1, Math.round(used * dice.pick([0.5, 1.1, 3])));
  await world.changeBudget(owner, { tokens, costUsd: null }, dice.once(4));
}

/**
 * One tenant that fills its cache, hits it again and again, and uses little beside: hits count nowhere. Returns the call that must
 * be served whenever its use is counted again.
 */
export async function cachedRound({ name, dice, bench, world }: Round): Promise<Call> {
  const model = await world.model({ ...randomPrices(dice), cache_enabled: true });
  const tenant = await world.tenant();
  const key = await world.key(tenant);
  await world.changeBudget(tenant, { tokens: 1000, costUsd: null });
  const script = [attempt({ usage: { ...NO_PARTS, input: 40, output: 60 } })];
  const plan = (at: number, repeated: string): Call =>
    planCall(dice, `${name}/${at}`, key, model, { route: "chat", repeated: `${name} ${repeated}`, script });
  for (let at = 0; at < HITS; at += 1) await bench.call(plan(at, "same"));
  await bench.call(plan(HITS, "other"));
  return plan(HITS + 1, "after all");
}
