import { useQuery } from "@tanstack/react-query";
import { Link, Navigate, Outlet, useLocation } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";
import { CurrentUser, useCurrentUser } from "../data/current-user.ts";
import { forgetPrivate } from "../data/private-storage.ts";
import { type SessionUser, sessionQuery } from "../data/session.ts";
import { shellTexts } from "../messages/en/shell.ts";
import { texts } from "../messages/texts.ts";
import { Button } from "../ui/button.tsx";
import { ReadOnly } from "../ui/read-only.ts";
import { Empty, Loaded } from "../ui/states.tsx";
import { AskingBeforeLoss } from "./asking-before-loss.tsx";
import { Frame } from "./frame.tsx";
import { useSignOut } from "./signed-out.ts";

const text = texts("shell", shellTexts);
const SessionEnded = lazy(async () => ({ default: (await import("./session-ended.tsx")).SessionEnded }));

/**
 * The frame around the pages of people who have signed in. A session that ends under an open page is asked for again over it,
 * so that nothing typed is lost.
 */
export function SignedIn() {
  const session = useQuery(sessionQuery);
  const [last, setLast] = useState<SessionUser | null>(null);
  const user = session.data?.user ?? null;
  const { href, pathname } = useLocation();
  const isAnother = user !== null && last !== null && mayNotKnow(user, last);
  useEffect(() => {
    if (isAnother) {
      forgetPrivate();
      location.assign("/");
    } else if (user !== null) setLast(user);
  }, [user, isAnother]);
  if (isAnother) return null;
  if (session.data === undefined)
    return (
      <Loaded state={session} failed={text("unavailable")}>
        {() => null}
      </Loaded>
    );
  const shown = user ?? last;
  // Under way already: going again would never end.
  if (shown === null && pathname === "/sign-in") return null;
  if (shown === null) return <Navigate to="/sign-in" search={{ return_to: href }} replace />;
  return (
    <CurrentUser value={shown}>
      <ReadOnly value={shown.isReadOnly}>
        <AskingBeforeLoss>
          <Frame user={shown} build={session.data.build} hasDeployments={session.data.has_deployments}>
            <Admitted user={shown} />
          </Frame>
          <Suspense fallback={null}>{user === null && <SessionEnded session={session.data} />}</Suspense>
        </AskingBeforeLoss>
      </ReadOnly>
    </CurrentUser>
  );
}

/**
 * Whether there is on the page what somebody may not see: what another person has read and typed, who may have signed in in
 * another window, or the same one as an admin, or in another tenant.
 */
function mayNotKnow(now: SessionUser, before: SessionUser): boolean {
  if (now.id !== before.id) return true;
  if (now.role === "admin") return false;
  return before.role === "admin" || (before.tenant_id !== null && before.tenant_id !== now.tenant_id);
}

/** Pages on which there is nothing but what changes or costs something. */
const FOR_WRITERS: ReadonlySet<string> = new Set(["/playground", "/assistant", "/deployments/new"]);

function Admitted({ user }: { readonly user: SessionUser }) {
  const { email } = user;
  const { pathname } = useLocation();
  const signOut = useSignOut();
  if (user.status === "pending")
    return (
      <Empty title={text("pendingTitle")} action={<Button onClick={() => void signOut()}>{text("signOut")}</Button>}>
        {text("pendingText", { email })}
      </Empty>
    );
  if (user.status === "disabled") return <Empty title={text("disabledTitle")}>{text("disabledText", { email })}</Empty>;
  if (user.role === "user" && user.tenant_id === null)
    return <Empty title={text("noTenantTitle")}>{text("noTenantText", { email })}</Empty>;
  if (user.isReadOnly && FOR_WRITERS.has(pathname))
    return (
      <Empty title={text("forbiddenTitle")} action={<Link to="/">{text("backToStart")}</Link>}>
        {text("readOnlyText")}
      </Empty>
    );
  return <Outlet />;
}

/** Pages below it are for admins. A tenant's people have a first page of their own. */
export function AdminOnly() {
  const { role } = useCurrentUser();
  const { pathname } = useLocation();
  if (role === "admin") return <Outlet />;
  if (pathname === "/") return <Navigate to="/portal" replace />;
  return (
    <Empty title={text("forbiddenTitle")} action={<Link to="/portal">{text("backToStart")}</Link>}>
      {text("forbiddenText")}
    </Empty>
  );
}

/** Pages below it are about the one tenant of a `user`, which an admin has not. */
export function UserOnly() {
  const { role } = useCurrentUser();
  return role === "user" ? <Outlet /> : <Navigate to="/" replace />;
}
