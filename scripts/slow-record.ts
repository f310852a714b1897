/** What is noted of the last run in which every slow test passed, and how it is said. */
import * as z from 'zod'

export const SlowRecord = z.strictObject({
  commit: z.string(),
  at: z.iso.datetime(),
  seed: z.int(),
  passed: z.int(),
  /** Most of them need a program that was not installed. */
  skipped: z.int(),
  minutes: z.int(),
})
export type SlowRecord = z.infer<typeof SlowRecord>

/** A run of vitest, as its JSON report has it. */
export const Report = z.object({
  success: z.boolean(),
  startTime: z.number(),
  numPassedTests: z.int(),
  numPendingTests: z.int(),
  numTodoTests: z.int(),
})

export type Run = { commit: string; seed: number; endMs: number }

/** What is noted of a run; nothing where a test failed. */
export function recordOf(
  report: z.infer<typeof Report>,
  { commit, seed, endMs }: Run,
): SlowRecord | undefined {
  if (!report.success || report.numPassedTests === 0) return undefined
  return {
    commit,
    at: new Date(endMs).toISOString(),
    seed,
    passed: report.numPassedTests,
    skipped: report.numPendingTests + report.numTodoTests,
    minutes: Math.round((endMs - report.startTime) / 60_000),
  }
}

/** `since`: commits that came after it; undefined where this tree does not have it. */
export function sayRecord(record: SlowRecord | undefined, since: number | undefined): string {
  if (record === undefined) return 'no run is noted in which every slow test passed'
  const { commit, at, seed, passed, skipped, minutes } = record
  const where = since === undefined ? 'which is not in this tree' : `${since} commits ago`
  return `every slow test last passed at ${commit.slice(0, 8)} (${where}), ${at.slice(0, 16)}Z: ${passed} passed, ${skipped} skipped, ${minutes} min, SEED=${seed}`
}

/** Whether a run is of all slow tests: neither files nor names were chosen. */
export const isWhole = (given: readonly string[]): boolean =>
  given.every(one => one.startsWith('-') && !/^(?:-t|--testNamePattern)\b/.test(one))
