/** Which tests reach a file: the import graph backwards, the tests beside the file first. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/** Any text that names a source file of ours: an import, an import on demand, the file of a worker. */
const SPECIFIER = /'(\.{1,2}\/[^'\n]+\.tsx?|#[a-z]+)'/g

/** The file that a name stands for: the engine of this runtime, a module as the usual build has it or asks for it. */
const NAMED: Readonly<Record<string, string>> = {
  '#crypto': 'protocol/crypto/engine.node.ts',
  '#mcp': 'mcp/server.ts',
  '#x402': 'daemon/payments/x402.ts',
  '#p2p': 'daemon/p2p/direct.ts',
  '#svclink': 'daemon/modules/svclink/module.ts',
  '#p2p-server': 'daemon/p2p/serve/module.ts',
}

export const fileNamed = (name: string): string => NAMED[name] ?? `daemon/modules/${name.slice(1)}.ts`

/** File -> files that import it, also on demand, as worker or only for a type. */
export function importers(root: string, sources: readonly string[]): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const path of sources) {
    if (!existsSync(join(root, path))) continue
    for (const [, specifier] of readFileSync(join(root, path), 'utf8').matchAll(SPECIFIER)) {
      const isName = specifier?.startsWith('#') === true
      const target = isName ? fileNamed(specifier) : normalize(join(dirname(path), specifier as string))
      found.set(target, [...(found.get(target) ?? []), path])
    }
  }
  return found
}

/** Files that threads of our own start with. */
const THREADS: ReadonlySet<string> = new Set([
  'daemon/chain/signature-worker.ts',
  'daemon/hubs/pow-worker.ts',
  'hub/core/verify-worker.ts',
  'hub/epochs/worker.ts',
  'hub/store/sqlite/writer.ts',
])

type Graph = ReadonlyMap<string, readonly string[]>

/** Files that import it, directly or not, and itself. */
function allImporters(file: string, graph: Graph): Set<string> {
  const seen = new Set([file])
  const queue = [file]
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    for (const importer of graph.get(path) ?? []) {
      if (seen.has(importer)) continue
      seen.add(importer)
      queue.push(importer)
    }
  }
  return seen
}

/** Whether a thread of its own loads the file: no probe is heard from there. */
export const runsInThread = (file: string, graph: Graph): boolean =>
  [...allImporters(file, graph)].some(path => THREADS.has(path))

/** Quick tests that reach the file: those of its own folder, then those of its top folder, then all others. */
export function relatedTests(file: string, graph: Graph): string[][] {
  const tests = [...allImporters(file, graph)]
    .filter(path => path.endsWith('.test.ts') && !path.endsWith('.slow.test.ts'))
    .sort()
  const ring = (path: string) => {
    if (dirname(path) === dirname(file)) return 0
    return path.split('/')[0] === file.split('/')[0] ? 1 : 2
  }
  return [0, 1, 2].map(wanted => tests.filter(path => ring(path) === wanted))
}
