/** Results fit a model's window: 4,000 characters unless asked, 8,000 at most, a cursor for the rest. */

export const RESULT_CHARACTERS_DEFAULT = 4_000
export const RESULT_CHARACTERS_MAX = 8_000

export const size = (value: unknown): number => JSON.stringify(value).length

/** The longest prefix of `items`, at least one, with which `build` stays in the budget; `cut` says there was more. */
export function cutToFit<T, R>(
  items: readonly T[],
  budget: number,
  build: (items: readonly T[], cut: boolean) => R,
): R {
  const whole = build(items, false)
  if (items.length <= 1 || size(whole) <= budget) return whole
  let low = 1
  let high = items.length - 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (size(build(items.slice(0, middle), true)) <= budget) low = middle
    else high = middle - 1
  }
  return build(items.slice(0, low), true)
}

/** One page of a list in the default budget: a page that is too long is fetched again shorter, with its own cursor. */
export async function fitPage<R extends Record<string, unknown>>(
  limit: number,
  fetchPage: (limit: number) => Promise<{ rows: readonly R[]; next: string | undefined }>,
): Promise<{ rows: readonly R[]; next: string | undefined }> {
  const page = await fetchPage(limit)
  const kept = cutToFit(page.rows, RESULT_CHARACTERS_DEFAULT - CURSOR_ROOM_CHARACTERS, rows => rows)
  return kept.length === page.rows.length ? page : await fetchPage(kept.length)
}

const CURSOR_ROOM_CHARACTERS = 200
