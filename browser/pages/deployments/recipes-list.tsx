import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { lazy, Suspense } from "react";
import type { Records } from "../../data/api.ts";
import { changedSearch } from "../../data/search-params.ts";
import { STATE_TEXTS } from "../../messages/common.ts";
import { deploymentTexts } from "../../messages/en/deployments.ts";
import { texts } from "../../messages/texts.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { formatText } from "../../ui/format.ts";
import { Panel, Row, Stack } from "../../ui/layout.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { useWholeList } from "./use-whole-list.ts";

const text = texts("deployments", deploymentTexts);
const route = getRouteApi("/signed-in/admin/deployments");
const RecipePanel = lazy(async () => ({ default: (await import("./recipe-panel.tsx")).RecipePanel }));
const stateTexts = { ...STATE_TEXTS, failed: text("recipesFailed") };
const EVERY_MS = 60_000;
/** In place of an id: a recipe that is being made. */
const NEW = "new";

type Recipe = Records["Recipe"];

/** The recipes, in the order of their names: those of the gateway's folder, and those that people have stored. */
export function RecipesList() {
  const { recipe: openId } = route.useSearch();
  const navigate = useNavigate({ from: "/deployments" });
  const recipes = useWholeList<Recipe>("/api/v1/recipes", {}, EVERY_MS);
  const open = (id: string | undefined): void =>
    void navigate({ search: (before) => changedSearch(before, { recipe: id }) });
  return (
    <Stack>
      <Row>
        <Button icon={<Plus size={14} aria-hidden />} onClick={() => open(NEW)}>
          {text("newRecipe")}
        </Button>
      </Row>
      <Panel isFlush>
        <Loaded state={recipes} texts={stateTexts}>
          {(rows) => (
            <>
              <Table
                label={text("recipes")}
                columns={COLUMNS}
                rows={rows}
                rowKey={({ id }) => id}
                onOpen={({ id }) => open(id)}
                openKey={openId}
                empty={<Empty title={text("recipesEmpty")} />}
              />
              <Suspense fallback={null}>
                {openId !== undefined && (
                  <RecipePanel
                    key={openId}
                    recipe={openId === NEW ? null : rows.find(({ id }) => id === openId)}
                    onClose={() => open(undefined)}
                    onMade={open}
                  />
                )}
              </Suspense>
            </>
          )}
        </Loaded>
      </Panel>
    </Stack>
  );
}

const COLUMNS: readonly Column<Recipe>[] = [
  { id: "name", head: text("recipeName"), isWide: true, cell: ({ name }) => <bdi title={name}>{name}</bdi> },
  {
    id: "description",
    head: text("recipeDescription"),
    isWide: true,
    cell: ({ description }) => <bdi title={description}>{formatText(description)}</bdi>,
  },
  { id: "kind", head: text("recipeKind"), cell: ({ builtin }) => <Badge>{text(builtin ? "builtin" : "own")}</Badge> },
  {
    id: "use",
    head: "",
    cell: ({ id, name }) => (
      <Link to="/deployments/new" search={{ recipe: id }} aria-label={text("useOf", { name })}>
        {text("use")}
      </Link>
    ),
  },
];
