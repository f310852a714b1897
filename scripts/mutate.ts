/**
 * `npm run -s mutate -- <file|folder>… [--n 50] [--seed 1] [--all] [--jobs 1] [--list]`: changes one place of the product
 * at a time and says whether a quick test notices. It works in a copy of the tree. A change that the compiler refuses is
 * not counted. Tests of the file's own folder run first, then the others of its top folder that reach it; with --all
 * whatever is left runs against every related test. Programs that tests start are built ones and don't hold the change.
 */
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { importers, relatedTests } from './mutate/related.ts'
import { mutated, type Site, shuffled, sitesOf } from './mutate/sites.ts'
import { filesOf, Tree } from './mutate/tree.ts'

const LIMIT_MS_MIN = 30_000
const COMPILE_MS_MAX = 120_000
const BASE_MS_MAX = 600_000
/** How much longer than unchanged a run may take: a change that never ends is noticed too. */
const LATE_FACTOR = 6
const SHOWN_CHARS = 60
/** How many rings of tests: own folder and top folder, or every related one. */
const RINGS_NEAR = 2
const RINGS_ALL = 3

type Mutant = { path: string; site: Site }
type Verdict = 'killed' | 'lived' | 'not compiled' | 'no test'

const root = resolve(import.meta.dirname, '..')
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    n: { type: 'string', default: '50' },
    seed: { type: 'string', default: '1' },
    jobs: { type: 'string', default: '1' },
    all: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
})
const wanted = whole('n', values.n)
const jobs = Math.min(whole('jobs', values.jobs), availableParallelism())
const files = filesOf(root)
const sources = files.filter(path => path.endsWith('.ts'))
const queue = shuffled(mutants(chosen()), whole('seed', values.seed))
const reach = values.all ? RINGS_ALL : RINGS_NEAR
const graph = importers(root, sources)
const rings = new Map(
  [...new Set(queue.map(({ path }) => path))].map(path => [path, relatedTests(path, graph)]),
)

if (values.list) for (const { path, site } of queue.slice(0, wanted)) say('', path, site)
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
  const under = positionals.map(path => relative(root, resolve(path)))
  const inside = (path: string) => under.some(start => path === start || path.startsWith(`${start}/`))
  const found = sources.filter(
    path => inside(path) && !/\.test\.ts$|\.d\.ts$|(^|\/)testing(\.ts$|\/)/.test(path),
  )
  return found.length > 0 ? found : fail(`no source file in ${positionals.join(', ')}`)
}

function mutants(paths: readonly string[]): Mutant[] {
  return paths.flatMap(path =>
    sitesOf(path, readFileSync(resolve(root, path), 'utf8')).map(site => ({ path, site })),
  )
}

function say(verdict: string, path: string, { line, kind, was, text }: Site): void {
  const change = `${kind}: ${short(was)} -> ${text === '' ? 'nothing' : short(text)}`
  process.stdout.write(`${verdict.padEnd(13)} ${path}:${line}  ${change}\n`)
}

function short(text: string): string {
  const line = text.replace(/\s+/g, ' ')
  return line.length > SHOWN_CHARS ? `${line.slice(0, SHOWN_CHARS)}…` : line
}

/** The tests of every chosen file on the unchanged tree: they must pass, and say how long a run takes. */
async function unchanged(tree: Tree): Promise<number> {
  const tests = [...new Set([...rings.values()].flatMap(each => each.slice(0, reach).flat()))]
  if (tests.length === 0) return 0
  const started = performance.now()
  const outcome = await tree.test(tests, BASE_MS_MAX)
  if (outcome !== 'passed') fail('the tests do not pass on the unchanged tree; run: npm test')
  return performance.now() - started
}

async function tryAll(): Promise<void> {
  using stack = new DisposableStack()
  const trees = Array.from({ length: jobs }, () => stack.use(new Tree(root, files)))
  const limitMs = Math.max(LIMIT_MS_MIN, LATE_FACTOR * (await unchanged(trees[0] as Tree)))
  const counts: Record<Verdict, number> = { killed: 0, lived: 0, 'no test': 0, 'not compiled': 0 }
  let open = wanted
  const work = async (tree: Tree) => {
    while (open > 0) {
      const mutant = queue.shift()
      if (mutant === undefined) return
      open--
      const verdict = await judge(tree, mutant, limitMs)
      if (verdict === 'not compiled') open++
      counts[verdict]++
      say(verdict, mutant.path, mutant.site)
    }
  }
  await Promise.all(trees.map(work))
  const counted = counts.killed + counts.lived + counts['no test']
  const share = counted === 0 ? 100 : (100 * counts.killed) / counted
  process.stdout.write(
    `${counts.killed} of ${counted} killed (${share.toFixed(0)} %); ${counts['not compiled']} more do not compile\n`,
  )
}

async function judge(tree: Tree, { path, site }: Mutant, limitMs: number): Promise<Verdict> {
  const source = tree.read(path)
  try {
    tree.write(path, mutated(source, site))
    if (!(await tree.compiles(path.split('/')[0] as string, COMPILE_MS_MAX))) return 'not compiled'
    const tests = (rings.get(path) ?? []).slice(0, reach).filter(ring => ring.length > 0)
    if (tests.length === 0) return 'no test'
    for (const ring of tests) if ((await tree.test(ring, limitMs)) !== 'passed') return 'killed'
    return 'lived'
  } finally {
    tree.write(path, source)
  }
}
