import { type FormEvent, useState } from "react";
import { ApiError } from "../data/api-error.ts";
import { providerAddress, type Session, type SessionUser, signInLocal } from "../data/session.ts";
import { shellTexts } from "../messages/en/shell.ts";
import { texts } from "../messages/texts.ts";
import buttonClasses from "../ui/button.module.css";
import { Button } from "../ui/button.tsx";
import { classNames } from "../ui/class-names.ts";
import { TextField } from "../ui/fields.tsx";
import { Stack } from "../ui/layout.tsx";
import { Notice } from "../ui/states.tsx";

const text = texts("shell", shellTexts);

interface SignInFormProps {
  readonly providers: Session["providers"];
  /** Where a provider leads back to. */
  readonly returnTo: string;
  readonly onSignedIn: (user: SessionUser) => Promise<void>;
  /** Providers open in a window of their own, so that the page stays. */
  readonly opensWindow?: boolean;
}

/** The break-glass admin's email and password, and a button for each provider. */
export function SignInForm({ providers, returnTo, onSignedIn, opensWindow = false }: SignInFormProps) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [failure, setFailure] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    try {
      const user = await signInLocal({ email, password });
      setPassword("");
      setFailure(null);
      await onSignedIn(user);
    } catch (error) {
      setFailure(failureText(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Stack>
      {failure !== null && <Notice tone="bad">{failure}</Notice>}
      {providers.map(({ id, name }) => (
        <a
          key={id}
          className={classNames(buttonClasses["button"], buttonClasses["primary"])}
          href={providerAddress(id, returnTo)}
          {...(opensWindow ? { target: "_blank", rel: "noreferrer" } : {})}
        >
          {text("signInWith", { provider: name })}
        </a>
      ))}
      <form onSubmit={(event) => void submit(event)}>
        <Stack>
          <TextField
            label={text("email")}
            type="email"
            autoComplete="username"
            required
            value={email}
            onChange={(event) => setEmail(event.target.value)}
          />
          <TextField
            label={text("password")}
            type="password"
            autoComplete="current-password"
            required
            value={password}
            onChange={(event) => setPassword(event.target.value)}
          />
          <Button type="submit" tone={providers.length === 0 ? "primary" : "plain"} isBusy={isBusy}>
            {text("signIn")}
          </Button>
        </Stack>
      </form>
    </Stack>
  );
}

function failureText(error: unknown): string {
  if (!(error instanceof ApiError)) return text("unavailable");
  if (error.code === "too_many_sign_ins")
    return text("too_many_sign_ins", { minutes: Math.max(1, Math.ceil((error.retryAfterSecs ?? 60) / 60)) });
  return error.code === "sign_in_failed" ? text("sign_in_failed") : `${text("unavailable")} ${error.message}`;
}
