/** Changes tried on one set of test files: in running tests where that can be, each in a run of its own where not. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { names, type Passed, PLAN, type Plan } from './plan.ts'
import { mutated, type Site } from './sites.ts'
import { switched } from './switches.ts'
import type { Tree } from './tree.ts'

export type Mutant = { readonly path: string; readonly site: Site }

/** No test can choose a change in a thread of its own, nor hear that it passes it. */
const UNHEARD = -1
const RUN_MS_MAX = 1_800_000
/** A try that takes longer goes round in circles. */
const STUCK_MS = 150_000
const ALONE_MS_MAX = 300_000
/** How often a run that a change ended is begun again with the rest. */
const RESTARTS_MAX = 8

/** Which of the changes these tests notice, and which they pass at all; they must be green without one. */
export async function noticedBy(
  tree: Tree,
  tests: readonly string[],
  open: readonly Mutant[],
  isInThread: (path: string) => boolean,
): Promise<{ noticed: Set<Mutant>; passed: Mutant[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-mutate-plan-'))
  const sources = new Map([...new Set(open.map(({ path }) => path))].map(path => [path, tree.read(path)]))
  try {
    const hot = writeSwitched(tree, sources, open)
    const passed = await passedBy(tree, tests, folder)
    const noticed = await tryRunning(tree, { tests, folder, open, hot, passed })
    for (const [path, source] of sources) tree.write(path, source)
    for (const mutant of open) {
      if (noticed.has(mutant)) continue
      const number = isInThread(mutant.path) ? UNHEARD : open.indexOf(mutant)
      const files = filesFor(number, { hot, passed })
      if (files.length > 0 && (await isNoticedAlone(tree, files, mutant))) noticed.add(mutant)
    }
    const reached = new Set(
      passed.flatMap(({ byTest, outside }) => [...Object.values(byTest).flat(), ...outside]),
    )
    return {
      noticed,
      passed: open.filter(({ path }, number) => !hot.has(number) || reached.has(number) || isInThread(path)),
    }
  } finally {
    for (const [path, source] of sources) tree.write(path, source)
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Test files that pass a change where no test can choose it: all, if nobody can; else those that pass it between tests. */
function filesFor(number: number, { hot, passed }: { hot: ReadonlySet<number>; passed: readonly Passed[] }) {
  const files = hot.has(number) ? passed.filter(({ outside }) => outside.includes(number)) : passed
  return files.map(({ file }) => file)
}

async function isNoticedAlone(
  tree: Tree,
  files: readonly string[],
  { path, site }: Mutant,
): Promise<boolean> {
  const source = tree.read(path)
  try {
    tree.write(path, mutated(source, site))
    return (await tree.test(files, ALONE_MS_MAX)) !== 'passed'
  } finally {
    tree.write(path, source)
  }
}

/** Writes sources of which tests choose; the numbers of the changes that they can choose. */
function writeSwitched(
  tree: Tree,
  sources: ReadonlyMap<string, string>,
  open: readonly Mutant[],
): Set<number> {
  const hot = new Set<number>()
  for (const [path, source] of sources) {
    const own = open.flatMap((mutant, number) =>
      mutant.path === path ? [{ number, site: mutant.site }] : [],
    )
    const text = switched(path, source, own)
    own.forEach(({ number }, i) => {
      if (text.isSwitched[i] === true) hot.add(number)
    })
    tree.write(path, text.source)
  }
  return hot
}

/** What each test file passes; every test must pass without a change. */
async function passedBy(tree: Tree, tests: readonly string[], folder: string): Promise<Passed[]> {
  writePlan(folder, {})
  if ((await tree.testPlanned(tests, folder, RUN_MS_MAX)) !== 'passed')
    throw new Error('the tests do not pass on the unchanged tree; run: npm test')
  return namesIn(folder, 'passed-').map(
    name => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Passed,
  )
}

type Trying = {
  tests: readonly string[]
  folder: string
  open: readonly Mutant[]
  hot: ReadonlySet<number>
  passed: readonly Passed[]
}

/** Runs the tests under each change that they pass, until all of it has been tried. */
async function tryRunning(tree: Tree, trying: Trying): Promise<Set<Mutant>> {
  const { folder, open } = trying
  for (let restarts = 0; restarts < RESTARTS_MAX; restarts++) {
    const { tries, files } = planOf(trying, killedIn(folder))
    if (files.length === 0) break
    writePlan(folder, { tries })
    const stuck = () => namesIn(folder, 'trying-').filter(name => ageMs(join(folder, name)) > STUCK_MS)
    const outcome = await tree.testPlanned(files, folder, RUN_MS_MAX, () => stuck().length > 0)
    // whatever a test was trying when the run ended has ended it
    const ended = outcome === 'late' ? stuck() : namesIn(folder, 'trying-')
    for (const name of ended) {
      const number = Number(readFileSync(join(folder, name), 'utf8'))
      if (number >= 0) writeFileSync(join(folder, names.killed(number)), '')
    }
    for (const name of namesIn(folder, 'trying-')) rmSync(join(folder, name))
    if (ended.length === 0) break
  }
  return new Set([...killedIn(folder)].map(number => open[number] as Mutant))
}

function planOf({ passed, hot }: Trying, killed: ReadonlySet<number>) {
  const tries: Record<string, number[]> = {}
  const files = new Set<string>()
  for (const { file, byTest } of passed) {
    for (const [id, numbers] of Object.entries(byTest)) {
      const left = numbers.filter(number => hot.has(number) && !killed.has(number))
      if (left.length === 0) continue
      tries[id] = left
      files.add(file)
    }
  }
  return { tries, files: [...files] }
}

const killedIn = (folder: string): Set<number> =>
  new Set(namesIn(folder, 'killed-').map(name => Number(name.slice('killed-'.length))))

const ageMs = (path: string): number => Date.now() - statSync(path).mtimeMs

const writePlan = (folder: string, plan: Plan) => writeFileSync(join(folder, PLAN), JSON.stringify(plan))

const namesIn = (folder: string, start: string): string[] =>
  readdirSync(folder).filter(name => name.startsWith(start))
