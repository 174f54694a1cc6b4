import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { ownPath } from "../../../shared/network/own-path.ts";
import { Mark } from "../../charts/mark.tsx";
import { SESSION_KEY, sessionQuery } from "../../data/session.ts";
import { SignInForm } from "../../forms/sign-in-form.tsx";
import { shellTexts } from "../../messages/en/shell.ts";
import { texts } from "../../messages/texts.ts";
import { Loaded, Notice } from "../../ui/states.tsx";
import classes from "./sign-in-page.module.css";

const text = texts("shell", shellTexts);
const route = getRouteApi("/sign-in");

/** Failures that a provider's sign-in comes back with, and their texts. */
const FAILURES = {
  sign_in_failed: "sign_in_failed_provider",
  sign_in_expired: "sign_in_expired",
  provider_unavailable: "provider_unavailable",
  email_taken: "email_taken",
  email_not_verified: "email_not_verified",
  email_invalid: "email_invalid",
  too_many_pending: "too_many_pending",
} as const;

/** Signing in; who has signed in already goes on at once. */
export function SignInPage() {
  const { error, return_to } = route.useSearch();
  const session = useQuery(sessionQuery);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const returnTo = ownPath(return_to, location.origin);
  const isSignedIn = session.data !== undefined && session.data.user !== null;
  useEffect(() => {
    if (isSignedIn) void navigate({ href: returnTo, replace: true });
  }, [isSignedIn, navigate, returnTo]);
  const failure = Object.entries(FAILURES).find(([code]) => code === error)?.[1];
  return (
    <main className={classes["page"]}>
      <div className={classes["card"]}>
        <p className={classes["product"]}>
          <Mark size={32} />
          {text("product")}
        </p>
        <h1>{text("signInTitle")}</h1>
        {failure !== undefined && <Notice tone="bad">{text(failure)}</Notice>}
        <Loaded state={session} failed={text("unavailable")}>
          {({ providers }) => (
            <SignInForm
              providers={providers}
              returnTo={returnTo}
              onSignedIn={async () => await queries.invalidateQueries({ queryKey: SESSION_KEY })}
            />
          )}
        </Loaded>
      </div>
    </main>
  );
}
