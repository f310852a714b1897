/** What the script and the tests that it runs tell each other, in one folder. */
export const PLAN_FOLDER = 'SVC_MUTATE'
export const PLAN = 'plan.json'

/** By the id of a test the changes to try; without it each test says which changes it passes. */
export type Plan = { readonly tries?: Readonly<Record<string, readonly number[]>> }

/** What a test file passed: by the id of each test, and what was passed outside of every one. */
export type Passed = {
  readonly file: string
  readonly byTest: Readonly<Record<string, readonly number[]>>
  readonly outside: readonly number[]
}

export const names = {
  passed: (file: string) => `passed-${file.replaceAll(/[^\w.]/g, '-')}`,
  killed: (number: number) => `killed-${number}`,
  trying: (pid: number) => `trying-${pid}`,
}
