/**
 * `npm run -s mutate -- <file[:line]|folder>… [--n 50] [--seed 1]… [--own | --all] [--list]`: changes one place of
 * the product at a time and says whether a quick test notices. It works in a copy of the tree. A change that the
 * compiler refuses is not counted. Tests of the file's own folder run first, with --own alone, then the others of its
 * top folder that reach it; with --all whatever is left runs against every related test. Only tests that pass the
 * changed place run, again and again under each change. Each further seed draws a sample of its own. Programs that
 * tests start are built ones and don't hold the change.
 */
import { readFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { importers, relatedTests, runsInThread } from './mutate/related.ts'
import { mutated, shuffled, sitesOf } from './mutate/sites.ts'
import { filesOf, Tree } from './mutate/tree.ts'
import { type Mutant, noticedBy } from './mutate/trials.ts'

const COMPILE_MS_MAX = 120_000
const SHOWN_CHARS = 60
/** The line after the name of a file. */
const LINE = /:(\d+)$/

type Verdict = 'killed' | 'lived' | 'no test'

const root = resolve(import.meta.dirname, '..')
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    n: { type: 'string', default: '50' },
    seed: { type: 'string', multiple: true, default: ['1'] },
    own: { type: 'boolean', default: false },
    all: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
})
/** How many rings of tests: own folder, top folder, all others. */
const rings = values.all ? 3 : values.own ? 1 : 2
const wanted = whole('n', values.n)
const seeds = values.seed.map(seed => whole('seed', seed))
const files = filesOf(root)
const sources = files.filter(path => path.endsWith('.ts'))
const all = mutants(chosen())

if (values.list)
  for (const seed of seeds) for (const one of shuffled(all, seed).slice(0, wanted)) say('', one)
else await tryAll()

function whole(name: string, text: string): number {
  if (!/^[0-9]{1,9}$/.test(text)) fail(`expected a whole number: --${name} ${text}`)
  return Number(text)
}

function fail(sentence: string): never {
  process.stderr.write(`mutate: ${sentence}\n`)
  process.exit(2)
}

function chosen(): string[] {
  if (positionals.length === 0)
    fail('expected a file or folder; for example: npm run -s mutate -- protocol/identity')
  const under = positionals.map(path => relative(root, resolve(path.replace(LINE, ''))))
  const inside = (path: string) => under.some(start => path === start || path.startsWith(`${start}/`))
  const found = sources.filter(
    path => inside(path) && !/\.test\.ts$|\.d\.ts$|(^|\/)testing(\.ts$|\/)/.test(path),
  )
  return found.length > 0 ? found : fail(`no source file in ${positionals.join(', ')}`)
}

/** Every change in these files; in one that was named with its line only those that begin there. */
function mutants(paths: readonly string[]): Mutant[] {
  const lines = Map.groupBy(
    positionals.filter(path => LINE.test(path)),
    path => relative(root, resolve(path.replace(LINE, ''))),
  )
  return paths.flatMap(path => {
    const named = lines.get(path)?.map(each => Number(LINE.exec(each)?.[1]))
    return sitesOf(path, readFileSync(resolve(root, path), 'utf8'))
      .filter(({ line }) => named === undefined || named.includes(line))
      .map(site => ({ path, site }))
  })
}

function say(verdict: string, { path, site }: Mutant): void {
  const { line, kind, was, text } = site
  const change = `${kind}: ${short(was)} -> ${text === '' ? 'nothing' : short(text)}`
  process.stdout.write(`${verdict.padEnd(13)} ${path}:${line}  ${change}\n`)
}

function short(text: string): string {
  const line = text.replace(/\s+/g, ' ')
  return line.length > SHOWN_CHARS ? `${line.slice(0, SHOWN_CHARS)}…` : line
}

async function tryAll(): Promise<void> {
  using tree = new Tree(root, files)
  const samples = await compiling(tree)
  const verdicts = await judged(tree, new Set(samples.flatMap(({ sample }) => sample)))
  for (const { seed, sample, refused } of samples) {
    for (const mutant of sample) say(verdicts.get(mutant) ?? '', mutant)
    const killed = sample.filter(mutant => verdicts.get(mutant) === 'killed').length
    const share = sample.length === 0 ? 100 : (100 * killed) / sample.length
    const words = `${killed} of ${sample.length} killed (${share.toFixed(0)} %); ${refused} more do not compile`
    process.stdout.write(`seed ${seed}: ${words}\n`)
  }
}

type Sample = { seed: number; sample: Mutant[]; refused: number }

/** The first changes of each seed that compile. */
async function compiling(tree: Tree): Promise<Sample[]> {
  const verdicts = new Map<Mutant, boolean>()
  for (;;) {
    const samples = seeds.map(seed => {
      const drawn = shuffled(all, seed)
      const good = drawn.filter(mutant => verdicts.get(mutant) !== false).slice(0, wanted)
      const last = drawn.indexOf(good.at(-1) as Mutant)
      const refused = drawn.slice(0, last).filter(mutant => verdicts.get(mutant) === false).length
      return { seed, sample: good, refused }
    })
    const open = [...new Set(samples.flatMap(({ sample }) => sample))].filter(one => !verdicts.has(one))
    if (open.length === 0) return samples
    await compileNext(tree, open, verdicts)
  }
}

/** Compiles one change of each file at once: the compiler names the files that it refuses. */
async function compileNext(
  tree: Tree,
  open: readonly Mutant[],
  verdicts: Map<Mutant, boolean>,
): Promise<void> {
  const byPath = new Map(open.toReversed().map(mutant => [mutant.path, mutant]))
  const [folder] = (open[0] as Mutant).path.split('/') as [string]
  const tried = [...byPath.values()].filter(({ path }) => path.startsWith(`${folder}/`))
  const kept = new Map(tried.map(({ path }) => [path, tree.read(path)]))
  for (const { path, site } of tried) tree.write(path, mutated(tree.read(path), site))
  const faulty = await tree.faulty(folder, COMPILE_MS_MAX)
  for (const [path, source] of kept) tree.write(path, source)
  const isElsewhere = [...faulty].some(path => !byPath.has(path))
  if (isElsewhere && tried.length > 1) {
    for (const mutant of tried) await compileNext(tree, [mutant], verdicts)
    return
  }
  for (const mutant of tried) verdicts.set(mutant, isElsewhere ? false : !faulty.has(mutant.path))
}

/** Ring by ring, what no nearer test notices. */
async function judged(tree: Tree, sample: ReadonlySet<Mutant>): Promise<Map<Mutant, Verdict>> {
  const graph = importers(root, sources)
  const paths = new Set([...sample].map(({ path }) => path))
  const related = new Map([...paths].map(path => [path, relatedTests(path, graph)]))
  const verdicts = new Map<Mutant, Verdict>([...sample].map(mutant => [mutant, 'no test']))
  for (let ring = 0; ring < rings; ring++) {
    const open = [...sample].filter(mutant => verdicts.get(mutant) !== 'killed')
    const tests = [...new Set(open.flatMap(({ path }) => related.get(path)?.[ring] ?? []))]
    if (tests.length === 0) continue
    const { noticed, passed } = await noticedBy(tree, tests, open, path => runsInThread(path, graph))
    for (const mutant of passed) verdicts.set(mutant, 'lived')
    for (const mutant of noticed) verdicts.set(mutant, 'killed')
    process.stderr.write(`ring ${ring + 1}: ${noticed.size} of ${open.length} killed\n`)
  }
  return verdicts
}
