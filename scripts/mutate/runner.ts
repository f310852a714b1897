/** Runs each test once to see what it passes, or once under each change that it is given, with a run as it was between. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { type RunnerTestCase, type RunnerTestFile, TestRunner } from 'vitest'
import { names, PLAN, PLAN_FOLDER, type Plan } from './plan.ts'

const TRY_MS_MAX = 60_000
const CLOCK_EVERY = 4096
const UNCHANGED = -1

const folder = process.env[PLAN_FOLDER] as string
const at = (name: string) => join(folder, name)

/** What counts of a test: whether it passes as it is, and the change under which it just failed. */
type Trial = { open: number[]; now: number; suspect: number | undefined }

const state = { active: UNCHANGED, startedAt: 0, asked: 0 }
let hits = new Set<number>()

/** A loop that never ends asks again and again. */
function changed(number: number): boolean {
  hits.add(number)
  if (number !== state.active) return false
  state.asked++
  if (state.asked % CLOCK_EVERY === 0 && performance.now() - state.startedAt > TRY_MS_MAX)
    throw new Error('late')
  return true
}
Object.assign(globalThis, { changed })

export default class MutationRunner extends TestRunner {
  readonly #plan = JSON.parse(readFileSync(at(PLAN), 'utf8')) as Plan
  readonly #byTest: Record<string, number[]> = {}
  #outside = new Set<number>()
  #trial: Trial = { open: [], now: UNCHANGED, suspect: undefined }

  override async onBeforeRunTask(test: RunnerTestCase): Promise<void> {
    await super.onBeforeRunTask(test)
    if (this.#plan.tries === undefined) return
    const open = [...(this.#plan.tries[test.id] ?? [])]
    if (open.length === 0 || test.fails === true) test.mode = 'skip'
    // as it is, then each change and, where that failed, as it is again
    test.repeats = 2 * open.length
    this.#trial = { open, now: UNCHANGED, suspect: undefined }
  }

  override onBeforeTryTask(test: RunnerTestCase, options: { retry: number; repeats: number }): void {
    super.onBeforeTryTask(test, options)
    if (this.#plan.tries === undefined) {
      for (const number of hits) this.#outside.add(number)
      hits = new Set()
      return
    }
    // whoever fails under many changes keeps none of it
    if (test.result !== undefined) test.result.errors = []
    const { suspect, open } = this.#trial
    const isFirst = options.repeats === 0
    const next = isFirst || suspect !== undefined ? UNCHANGED : open.find(number => !this.#isKilled(number))
    if (next === undefined) {
      this.#trial = { open: [], now: UNCHANGED, suspect: undefined }
      throw new Error('nothing is left to try')
    }
    this.#trial.now = next
    this.#trial.open = open.slice(next === UNCHANGED ? 0 : open.indexOf(next) + 1)
    Object.assign(state, { active: next, startedAt: performance.now(), asked: 0 })
    writeFileSync(at(names.trying(process.pid)), String(next))
  }

  override async onAfterRetryTask(
    test: RunnerTestCase,
    options: { retry: number; repeats: number },
  ): Promise<void> {
    await super.onAfterRetryTask?.(test, options)
    if (this.#plan.tries === undefined) {
      this.#byTest[test.id] = [...hits]
      hits = new Set()
      return
    }
    state.active = UNCHANGED
    const isFailed = test.result?.state === 'fail'
    const { now, suspect } = this.#trial
    if (now !== UNCHANGED) {
      this.#trial.suspect = isFailed ? now : undefined
      return
    }
    if (isFailed) this.#trial.open = []
    else if (suspect !== undefined) writeFileSync(at(names.killed(suspect)), '')
    this.#trial.suspect = undefined
  }

  override async onAfterRunFiles(files: RunnerTestFile[]): Promise<void> {
    super.onAfterRunFiles(files)
    rmSync(at(names.trying(process.pid)), { force: true })
    for (const { filepath } of files) {
      const file = relative(this.config.root, filepath)
      const outside = [...this.#outside, ...hits]
      writeFileSync(at(names.passed(file)), JSON.stringify({ file, byTest: this.#byTest, outside }))
    }
    this.#outside = new Set()
    hits = new Set()
  }

  #isKilled(number: number): boolean {
    return existsSync(at(names.killed(number)))
  }
}
