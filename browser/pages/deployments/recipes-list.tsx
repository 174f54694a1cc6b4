import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { lazy, Suspense } from "react";
import type { Records } from "../../data/api.ts";
import { changedSearch } from "../../data/search-params.ts";
import { useList } from "../../data/use-list.ts";
import { CsvLink } from "../../forms/list/csv-link.tsx";
import { ListTable } from "../../forms/list/list-table.tsx";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { deploymentTexts } from "../../messages/en/deployments.ts";
import { texts } from "../../messages/texts.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { formatText } from "../../ui/format.ts";
import { Empty } from "../../ui/states.tsx";

const text = texts("deployments", deploymentTexts);
const route = getRouteApi("/signed-in/admin/deployments");
const RecipePanel = lazy(async () => ({ default: (await import("./recipe-panel.tsx")).RecipePanel }));
const EVERY_MS = 60_000;
/** In place of an id: a recipe that is being made. */
const NEW = "new";

type Recipe = Records["Recipe"];

/** The recipes, in the order of their names: those of the gateway's folder, and those that people have stored. */
export function RecipesList() {
  const { recipe: openId } = route.useSearch();
  const navigate = useNavigate({ from: "/deployments" });
  const recipes = useList<Recipe>("/api/v1/recipes", {}, { everyMs: EVERY_MS, readsAll: true });
  const view = useListView({ rows: recipes.data, columns: COLUMNS, prefix: "recipes_" });
  const open = (id: string | undefined): void =>
    void navigate({ search: (before) => changedSearch(before, { recipe: id }) });
  return (
    <>
      <ListTable
        state={recipes}
        view={view}
        title={text("recipes")}
        actions={
          <>
            {view.choice}
            <CsvLink path="/api/v1/recipes" />
            <Button writes icon={<Plus size={14} aria-hidden />} onClick={() => open(NEW)}>
              {text("newRecipe")}
            </Button>
          </>
        }
        label={text("recipes")}
        rowKey={({ id }) => id}
        onOpen={({ id }) => open(id)}
        openKey={openId}
        empty={<Empty title={text("recipesEmpty")}>{text("recipesEmptyText")}</Empty>}
      />
      <Suspense fallback={null}>
        {openId !== undefined && recipes.data !== undefined && (
          <RecipePanel
            key={openId}
            recipe={openId === NEW ? null : recipes.data.find(({ id }) => id === openId)}
            onClose={() => open(undefined)}
            onMade={open}
          />
        )}
      </Suspense>
    </>
  );
}

const COLUMNS: readonly ListColumn<Recipe>[] = [
  {
    id: "name",
    head: text("recipeName"),
    sortBy: ({ name }) => name,
    cell: ({ id, name }) => (
      <Link from="/deployments" search={(before) => changedSearch(before, { recipe: id })}>
        <bdi>{name}</bdi>
      </Link>
    ),
  },
  {
    id: "description",
    head: text("recipeDescription"),
    isWide: true,
    cell: ({ description }) => <bdi title={description}>{formatText(description)}</bdi>,
  },
  {
    id: "kind",
    head: text("recipeKind"),
    sortBy: ({ builtin }) => text(builtin ? "builtin" : "own"),
    cell: ({ builtin }) => <Badge>{text(builtin ? "builtin" : "own")}</Badge>,
  },
  {
    id: "use",
    head: "",
    name: text("use"),
    cell: ({ id, name }) => (
      <Link to="/deployments/new" search={{ recipe: id }} aria-label={text("useOf", { name })}>
        {text("use")}
      </Link>
    ),
  },
];
