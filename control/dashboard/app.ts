/**
 * The console's server: sign-in, sessions, and the Management API behind them (docs/rules/console.md). Nothing that it
 * answers may be stored on the way, and no page of another site may frame, script or write.
 */
import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { deleteCookie, getCookie, getSignedCookie, setCookie, setSignedCookie } from "hono/cookie";
import { NONCE, type SecureHeadersVariables, secureHeaders } from "hono/secure-headers";
import { z } from "zod";
import { AuthFailures } from "../../shared/access/auth-failures.ts";
import { PERSON_HEADER, personOf } from "../../shared/access/console-person.ts";
import { GatewayError } from "../../shared/errors.ts";
import { isReadOnly, isWide } from "../../shared/fields/roles.ts";
import { ownPath } from "../../shared/network/own-path.ts";
import { rootCause } from "../../shared/text/root-cause.ts";
import { clientAddress } from "../api/client-address.ts";
import { BODY_PARTS } from "../api/guard.ts";
import { type Asker, Assistant, AssistantOff, ProposalUnusable } from "../assistant/assistant.ts";
import type { Database } from "../db/connect.ts";
import { hasMoreParts } from "../kernel/json-parts.ts";
import type { Logger } from "../kernel/log.ts";
import { parse } from "../kernel/parse.ts";
import { failureLevel } from "../kernel/store-watch.ts";
import { type ConsolePerson, mayCallAs, seesStill } from "../users/person.ts";
import { type ConsoleAssets, NOT_BUILT_PAGE } from "./assets.ts";
import { hasDeployments } from "./configured.ts";
import { ConsoleKeys, tenantOfCall } from "./console-keys.ts";
import { DashboardError } from "./dashboard-error.ts";
import type { DashboardEnv } from "./env.ts";
import { Live, type LiveOptions } from "./live/live.ts";
import { OpenCalls } from "./open-calls.ts";
import { isOriginAllowed, ownOrigin } from "./origins.ts";
import { CLIENT_GONE } from "./passed-on.ts";
import { Relay } from "./relay.ts";
import { shortAddress, shortAgent } from "./session-origin.ts";
import { sessionRoutes, shownUser } from "./session-routes.ts";
import { SESSION_SECS, Sessions, sessionName } from "./sessions.ts";
import { isBreakGlass } from "./sign-in/break-glass.ts";
import { Guessers } from "./sign-in/guessers.ts";
import { LocalUsers } from "./sign-in/local-users.ts";
import { EmailNotVerified, OidcSignIn } from "./sign-in/oidc.ts";
import { SignInAttempts } from "./sign-in/sign-in-attempts.ts";
import { SIGN_IN_SECS, SignInStates } from "./sign-in/sign-in-state.ts";
import { signInBreakGlass, signInIdentity } from "./users.ts";
import { whileAllowed } from "./while-allowed.ts";

const SESSION_COOKIE = "gateway_session";
const SIGN_IN_COOKIE = "gateway_sign_in";
const SIGN_IN_PATH = "/auth/local";
const KNOWN_BROWSER_COOKIE = "gateway_known_browser";
/** The signature of a cookie does not cover its name: a session's must not pass for one of a browser. */
const KNOWN_BROWSER = "browser ";
/** Browsers keep no cookie for longer. */
const KNOWN_BROWSER_SECS = 400 * 86_400;
/** A question with the conversation before it; a proposal that is run. */
const ASSISTANT_BODY_MAX_BYTES = 2 * 1024 * 1024;
const LIVE = "/api/live";
const RELAY = "/api/relay";

/** What the console needs from the control service. */
interface DashboardOptions {
  readonly env: DashboardEnv;
  readonly db: Database;
  readonly adminToken: string;
  readonly management: LiveOptions["management"];
  readonly routes: LiveOptions["routes"];
  readonly now: () => Date;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly log: Logger;
  /** What browsers load; null: nothing was built. */
  readonly assets: ConsoleAssets | null;
}

const credentialsSchema = z.object({
  email: z.string({ error: "must be a string" }).max(1000, "must be at most 1000 characters"),
  password: z.string({ error: "must be a string" }).max(1000, "must be at most 1000 characters"),
});

/** The application; serve it on an address of its own. */
export function createDashboard(options: DashboardOptions): Hono {
  const { env, db, now, log, assets } = options;
  const nowMs = (): number => now().getTime();
  const sessions = new Sessions(options);
  const states = new SignInStates(env.sessionSecret, options);
  const attempts = new SignInAttempts(nowMs);
  const { trustedProxies: proxies, frontUsers } = env;
  const [ownUser, localUsers] = [process.getuid?.(), new LocalUsers()];
  const guessers = new Guessers({ proxies, frontUsers, ownUser, localUsers });
  const failures = new AuthFailures();
  const providers = new Map(env.providers.map((provider) => [provider.id, new OidcSignIn(provider, nowMs)]));
  const live = new Live({ ...options, nowMs });
  const open = new OpenCalls();
  const keys = new ConsoleKeys({ ...options, nowMs });
  const relay = new Relay({ baseUrl: env.proxyOwnUrl, open, keys, log });
  const assistant = new Assistant({
    ...options,
    sessionSecret: env.sessionSecret,
    proxyBaseUrl: env.proxyOwnUrl,
    routeOf: (method, path) => live.find(method, path)?.route.path ?? null,
    asPerson: async (request, path, person) => await live.answer(request, path, person),
    beginCall: (userId) => open.begin(userId, null),
  });
  const app = new Hono();

  app.use(
    secureHeaders({
      contentSecurityPolicy: {
        defaultSrc: ["'none'"],
        scriptSrc: [NONCE],
        styleSrc: ["'self'"],
        imgSrc: ["'self'", "data:"],
        connectSrc: ["'self'"],
        formAction: ["'self'"],
        frameAncestors: ["'none'"],
        baseUri: ["'none'"],
      },
      referrerPolicy: "same-origin",
      xFrameOptions: "DENY",
      strictTransportSecurity: env.publicOrigin?.startsWith("https:") === true,
    }),
    async (c, next) => {
      if (!isOriginAllowed(c.req.raw, originOf(c), env)) throw new DashboardError("origin_not_allowed");
      await next();
      if (!c.res.headers.has("cache-control")) c.header("cache-control", "no-store");
    },
  );

  sessionRoutes(app, {
    env,
    sessions,
    build: assets?.build ?? null,
    nowMs,
    signedIn,
    activeUser,
    jsonOf,
    onTooLarge: tooLarge,
    hasDeployments: async () => await hasDeployments(options),
  });

  app.post(SIGN_IN_PATH, async (c) => {
    const { name, address } = await guessers.of(c);
    const guesser = (await knownBrowserOf(c)) ?? name;
    const given = parse(credentialsSchema, jsonIn(await attempts.bodyOf(guesser, c.req.raw)));
    if (c.req.raw.signal.aborted) return new Response(null, { status: CLIENT_GONE });
    // No other request may come between the check and its count.
    attempts.check(guesser);
    if (!isBreakGlass(env, given)) {
      attempts.failed(guesser);
      const { line } = failures.note(address, nowMs());
      if (line !== null) log.warn({ event: "sign_in_failed", address, ...line });
      throw new DashboardError("sign_in_failed");
    }
    attempts.succeeded(guesser);
    const { id } = await signInBreakGlass(db, env.adminEmail, now());
    const person = await sessions.personOf(await begin(c, id));
    const known = KNOWN_BROWSER + Buffer.from(options.randomBytes(16)).toString("base64url");
    const rules = { ...cookieRules(c), path: SIGN_IN_PATH, maxAge: KNOWN_BROWSER_SECS };
    await setSignedCookie(c, KNOWN_BROWSER_COOKIE, known, env.sessionSecret, rules);
    return c.json({ user: person === null ? null : shownUser(person) });
  });

  app.get("/auth/oidc/:provider", async (c) => {
    const provider = providerOf(c);
    try {
      const { url, state } = await provider.depart(callbackOf(c), ownPath(c.req.query("return_to")));
      setCookie(c, SIGN_IN_COOKIE, await states.seal(state), {
        ...cookieRules(c),
        path: "/auth",
        maxAge: SIGN_IN_SECS,
      });
      return c.redirect(url.href);
    } catch (error) {
      log.warn({ event: "sign_in_provider_failed", provider: c.req.param("provider"), reason: rootCause(error) });
      return refused(c, "provider_unavailable");
    }
  });

  app.get("/auth/oidc/:provider/callback", async (c) => {
    const came = new URL(callbackOf(c));
    came.search = new URL(c.req.url).search;
    const sealed = getCookie(c, SIGN_IN_COOKIE) ?? "";
    deleteCookie(c, SIGN_IN_COOKIE, { ...cookieRules(c), path: "/auth" });
    try {
      const state = await states.take(sealed);
      if (state === null || state.provider !== c.req.param("provider")) return refused(c, "sign_in_expired");
      const address = addressOf(c) ?? "";
      const guesser = await guessers.of(c);
      const identity = await attempts.asking(guesser.name, async () => await providerOf(c).arrive(came, state));
      const signed = await signInIdentity(db, identity, { reserved: env.adminEmail, now: now(), address });
      if (signed.kind === "refused") return refused(c, signed.reason);
      await begin(c, signed.user.id);
      return c.redirect(state.returnTo);
    } catch (error) {
      log.warn({ event: "sign_in_failed", provider: c.req.param("provider"), reason: rootCause(error) });
      return refused(c, error instanceof EmailNotVerified ? "email_not_verified" : "sign_in_failed");
    }
  });

  app.post("/auth/sign-out", async (c) => {
    const token = await tokenOf(c);
    if (token !== null) await sessions.end(token);
    deleteCookie(c, SESSION_COOKIE, cookieRules(c));
    return c.body(null, 204);
  });

  app.all(`${LIVE}/*`, async (c) => {
    const user = await activeUser(c);
    const path = pathOf(c.req.raw).slice(LIVE.length);
    // A page that was read as somebody else starts again: role and tenant change under it. A refusal says it as well.
    c.header(PERSON_HEADER, personOf(user));
    const answer = await live.answer(c.req.raw, path, { user, address: addressOf(c) });
    answer.headers.set(PERSON_HEADER, personOf(user));
    if (!answer.headers.has("content-disposition")) return answer;
    // a file comes piece by piece
    return whileAllowed(answer, async () => {
      if (!seesStill(await activeUser(c), user)) throw new DashboardError("forbidden");
    });
  });

  app.all(`${RELAY}/*`, async (c) => {
    const token = (await tokenOf(c)) ?? "";
    const { raw } = c.req;
    const personNow = async () => active(token === "" ? null : await sessions.personOf(token));
    const user = mayCall(await personNow());
    const tenantId = tenantOfCall(user, raw);
    const answer = await relay.answer(raw, pathOf(raw).slice(RELAY.length), { user, tenantId, address: addressOf(c) });
    return whileAllowed(answer, async () => {
      const person = await personNow();
      if (tenantId === null) mayCall(person);
      else if (!mayCallAs(person, tenantId)) throw new DashboardError("forbidden");
    });
  });

  app.get("/api/assistant", async (c) => c.json(await assistant.state((await asker(c)).user)));

  const assistantBody = bodyLimit({ maxSize: ASSISTANT_BODY_MAX_BYTES, onError: tooLarge });
  app.post("/api/assistant/ask", assistantBody, async (c) => {
    const events = await assistant.answer(await jsonOf(c), await asker(c), c.req.raw.signal);
    return c.body(events, 200, { "content-type": "text/event-stream", "x-accel-buffering": "no" });
  });

  app.post("/api/assistant/run", assistantBody, async (c) =>
    c.json(await assistant.run(await jsonOf(c), await asker(c))),
  );

  app.post("/api/assistant/outcome", assistantBody, async (c) =>
    c.json(await assistant.outcome(await jsonOf(c), await asker(c))),
  );

  app.get("/assets/:name", (c) => {
    const file = assets?.file(c.req.param("name"), c.req.raw) ?? null;
    if (file === null) throw new GatewayError("not_found");
    return file;
  });

  // Every other address is a view of the console, which says itself when there is none.
  app.get("*", (c) => {
    if (/^\/(api|auth|assets)(\/|$)/.test(c.req.path)) throw new GatewayError("not_found");
    return c.html(
      assets === null
        ? NOT_BUILT_PAGE
        : assets.page((c.var as Partial<SecureHeadersVariables>).secureHeadersNonce ?? ""),
    );
  });

  app.notFound(() => {
    throw new GatewayError("not_found");
  });
  app.onError((error, c) => {
    const known =
      error instanceof DashboardError || error instanceof GatewayError
        ? error
        : (assistantRefusal(error) ?? new GatewayError("internal_error", { cause: error }));
    if (known.status >= 500)
      log[failureLevel(error) === "debug" ? "debug" : "error"]({
        event: "request_failed",
        code: known.code,
        reason: rootCause(error),
      });
    const { "www-authenticate": _, ...headers } = known.headers as Record<string, string>;
    c.header("cache-control", "no-store");
    return c.json(known.body, known.status as 500, headers);
  });
  return app;

  async function begin(c: Context, userId: string): Promise<string> {
    const before = await tokenOf(c);
    if (before !== null) await sessions.end(before);
    const from = { address: shortAddress(addressOf(c)), agent: shortAgent(c.req.header("user-agent")) };
    const token = await sessions.begin(userId, from);
    await setSignedCookie(c, SESSION_COOKIE, token, env.sessionSecret, { ...cookieRules(c), maxAge: SESSION_SECS });
    return token;
  }

  /** The user of the session; null: nobody has signed in. A disabled user stays signed in, and may do nothing. */
  async function signedIn(c: Context): Promise<ConsolePerson | null> {
    const token = await tokenOf(c);
    return token === null ? null : await sessions.personOf(token);
  }

  /** The user of the session, who may do what the role allows. Throws DashboardError 401, 403. */
  async function activeUser(c: Context): Promise<ConsolePerson> {
    return active(await signedIn(c));
  }

  /** An admin who asks the assistant. Throws DashboardError for everybody else. */
  async function asker(c: Context): Promise<Asker> {
    const token = (await tokenOf(c)) ?? "";
    const current = async (): Promise<ConsolePerson> => {
      const user = active(token === "" ? null : await sessions.personOf(token));
      if (user.role !== "admin") throw new DashboardError("forbidden");
      return user;
    };
    return { user: await current(), address: addressOf(c), session: sessionName(token), current };
  }

  async function tokenOf(c: Context): Promise<string | null> {
    return (await getSignedCookie(c, env.sessionSecret, SESSION_COOKIE)) || null;
  }

  /** The browser, when the built-in admin has signed in there before. */
  async function knownBrowserOf(c: Context): Promise<string | null> {
    const known = await getSignedCookie(c, env.sessionSecret, KNOWN_BROWSER_COOKIE);
    return typeof known === "string" && known.startsWith(KNOWN_BROWSER) ? known : null;
  }

  function addressOf(c: Context): string | null {
    return clientAddress(c, env.trustedProxies);
  }

  /** Throws DashboardError when the request names a host that is not known to be the console's. */
  function originOf(c: Context): string {
    const origin = ownOrigin(c.req.raw, env);
    if (origin === null) throw new DashboardError("host_not_allowed");
    return origin;
  }

  function cookieRules(c: Context) {
    const secure = originOf(c).startsWith("https:");
    return { path: "/", httpOnly: true, sameSite: "Lax", secure } as const;
  }

  function providerOf(c: Context): OidcSignIn {
    const provider = providers.get(c.req.param("provider") ?? "");
    if (provider === undefined) throw new GatewayError("not_found");
    return provider;
  }

  function callbackOf(c: Context): string {
    return `${originOf(c)}/auth/oidc/${c.req.param("provider")}/callback`;
  }
}

/** Back to the page that offers to sign in, which says why. */
function refused(c: Context, reason: string): Response {
  return c.redirect(`/sign-in?error=${reason}`);
}

/** The user of a session. Throws DashboardError when nobody has signed in, or the account may do nothing. */
function active(user: ConsolePerson | null): ConsolePerson {
  if (user === null) throw new DashboardError("signed_out");
  if (user.status === "pending") throw new DashboardError("account_pending");
  if (user.status !== "active") throw new DashboardError("account_disabled");
  return user;
}

/** The same of somebody who calls models: calls cost money, and who only reads spends none. */
function mayCall(user: ConsolePerson): ConsolePerson {
  if (isReadOnly(user.role)) throw new DashboardError("read_only");
  if (!isWide(user.role) && user.tenant_id === null) throw new DashboardError("no_tenant");
  return user;
}

function assistantRefusal(error: unknown): DashboardError | null {
  if (error instanceof AssistantOff) return new DashboardError("assistant_off");
  return error instanceof ProposalUnusable ? new DashboardError("proposal_unusable") : null;
}

/** The path as it stands in the address, nothing of it decoded. */
function pathOf(request: Request): string {
  return new URL(request.url).pathname;
}

async function jsonOf(c: Context): Promise<unknown> {
  return jsonIn(new Uint8Array(await c.req.arrayBuffer()));
}

function jsonIn(bytes: Uint8Array): unknown {
  if (hasMoreParts(bytes, BODY_PARTS.management)) tooLarge();
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new GatewayError("invalid_json");
  }
}

function tooLarge(): never {
  throw new GatewayError("request_too_large");
}
