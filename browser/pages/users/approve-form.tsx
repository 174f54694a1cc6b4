import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { USER_ROLES } from "../../../shared/fields/roles.ts";
import { answerValue, api, type Records } from "../../data/api.ts";
import type { ApiError } from "../../data/api-error.ts";
import { fieldsOf, ifMatch } from "../../data/untyped.ts";
import { unlessChanged } from "../../forms/record/conflicts.ts";
import type { FieldValues } from "../../forms/record/drafts.ts";
import { choiceLabel, fieldHint } from "../../forms/record/field-words.ts";
import { complain, useAnnouncedWrite } from "../../forms/record/use-announced-write.ts";
import { usersTexts } from "../../messages/en/users.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { SelectField } from "../../ui/fields.tsx";
import { Stack } from "../../ui/layout.tsx";
import { Notice } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.ts";
import { TenantOfUser } from "./tenant-of-user.tsx";
import { accessWarnings } from "./user-warnings.ts";
import { USER_READS, type User } from "./user-words.tsx";

const text = texts("users", usersTexts);

interface Approval {
  readonly body: Records["UpdateUser"];
  /** The user as last read; its revision is sent. */
  readonly now: () => FieldValues | Promise<FieldValues>;
}

/** Lets somebody in who waits, with a role and a tenant, unless another admin has decided meanwhile. */
export function ApproveForm({ user }: { readonly user: User }) {
  const { id, email } = user;
  const [role, setRole] = useState<User["role"]>("user");
  const [tenantId, setTenantId] = useState(user.tenant_id);
  const queries = useQueryClient();
  const [error, setError] = useState<ApiError | null>(null);
  const after = { status: "active", role, tenant_id: tenantId } as const;
  const readNow = async () => answerValue(await api.GET("/api/v1/users/{id}", { params: { path: { id } } }));
  const write = useAnnouncedWrite<Approval>({
    send: async ({ body, now }) =>
      await api.PATCH("/api/v1/users/{id}", { params: { path: { id }, header: ifMatch(await now()) }, body }),
    touches: USER_READS,
    done: () => text("approved", { email, role: choiceLabel(role).toLowerCase() }),
    failed: () => text("approveFailed", { email }),
    onFailed: (failure) =>
      failure.param === "tenant_id" ? setError(failure) : complain(text("approveFailed", { email }), failure),
    inverse: (_, answer) => ({
      variables: {
        body: { status: user.status, role: user.role, tenant_id: user.tenant_id },
        now: async () => unlessChanged(Object.keys(after), fieldsOf(answer), await readNow()),
      },
      done: text("waitsAgain", { email }),
    }),
  });
  const approve = async (): Promise<void> => {
    try {
      const now = await readNow();
      if (now.status === "pending") return write.run({ body: after, now: () => now });
      for (const path of USER_READS) void queries.invalidateQueries({ queryKey: [path] });
      toast({ title: text("decided", { email, status: choiceLabel(now.status).toLowerCase() }), tone: "warn" });
    } catch (failure) {
      complain(text("approveFailed", { email }), failure);
    }
  };
  const warnings = accessWarnings({ before: user, after, isSelf: false, otherAdmins: null });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void approve();
      }}
    >
      <Stack>
        <SelectField
          label={text("role")}
          hint={fieldHint("role")}
          value={role}
          onChange={({ target }) => setRole(USER_ROLES.find((one) => one === target.value) ?? "user")}
          choices={USER_ROLES.toReversed().map((value) => ({ value, label: choiceLabel(value) }))}
        />
        <TenantOfUser
          tenantId={tenantId}
          onChoose={(chosen) => {
            setTenantId(chosen);
            setError(null);
          }}
          error={error?.message}
        />
        {warnings.map((warning) => (
          <Notice key={warning} tone="warn">
            {text(`warn_${warning}`)}
          </Notice>
        ))}
        <Button writes type="submit" tone="primary" isBusy={write.isBusy}>
          {text("approve")}
        </Button>
      </Stack>
    </form>
  );
}
