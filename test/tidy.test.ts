/** Rules of the house that a machine can check: sizes, names, words, who writes what; rooms.test.ts has the rooms. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, test } from 'vitest'
import { longFunctions } from '../scripts/code/functions.ts'

const LINES_MAX = 70
const root = new URL('..', import.meta.url).pathname
const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter(path => path !== '')
const sources = tracked.filter(path => /\.(ts|tsx)$/.test(path) && !path.includes('fixtures/'))
const product = sources.filter(
  path => !/\.test\.tsx?$|\.config\.ts$|(^|\/)testing(\.ts$|\/)|^test\/|^bench\/|^scripts\//.test(path),
)
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const withoutComments = (text: string) => text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
const importsOf = (path: string) =>
  [...read(path).matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(match => match[1] as string)

const targetOf = (path: string, specifier: string) => normalize(join(dirname(path), specifier))

test('every package that is installed is pinned by its content', () => {
  type Locked = { link?: boolean; integrity?: string }
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, Locked> }
  const installed = Object.entries(packages).filter(
    ([path, { link }]) => path.includes('node_modules/') && !link,
  )
  const loose = installed.filter(([, { integrity }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''))
  expect(installed.length).toBeGreaterThan(300)
  expect(loose.map(([path]) => path)).toEqual([])
})

describe('imports', () => {
  test.each([
    ['node:sqlite', ['daemon/platform/sqlite.ts', 'hub/store/sqlite/database.ts']],
    ['@modelcontextprotocol/sdk', ['cli/demo/tool-client.ts']],
    ['@modelcontextprotocol/core', ['mcp/judge.ts']],
    ['@modelcontextprotocol/server', ['mcp/']],
    ['openai', ['autoreply/openai.ts']],
    ['clipanion', ['cli/parse.ts']],
  ])('%s is imported in its own files only', (name, places) => {
    const found = product.filter(path =>
      importsOf(path).some(specifier => specifier === name || specifier.startsWith(`${name}/`)),
    )
    expect(found.filter(path => !places.some(place => path.startsWith(place)))).toEqual([])
  })

  test('the protocol runs in a browser too: what belongs to the runtime is imported in its engine alone', () => {
    const found = product.filter(
      path =>
        path.startsWith('protocol/') && importsOf(path).some(specifier => specifier.startsWith('node:')),
    )
    expect(found).toEqual(['protocol/crypto/engine.node.ts'])
  })

  test('heavy front ends load when asked for: nothing the command line needs at start imports them', () => {
    const seen = new Set<string>()
    const visit = (path: string) => {
      if (seen.has(path)) return
      seen.add(path)
      const statics = [...read(path).matchAll(/^(?:import|export)\s(?!type\b)[^'"]*?'(\.[^']+)'/gms)].map(
        match => match[1] as string,
      )
      for (const specifier of statics) visit(targetOf(path, specifier))
    }
    visit('cli/main.ts')
    expect([...seen].filter(path => /^(mcp|tui|daemon|hub|autoreply)\//.test(path))).toEqual([])
  })
})

test('the second client of wire 1 is made of fetch and node:crypto alone', () => {
  const parts = ['bytes', 'objects', 'client'].map(name => `./${name}.ts`)
  for (const part of parts) {
    const text = read(`test/second-client/wire1/${part.slice(2)}`)
    const named = [...text.matchAll(/(?:\bfrom |\bimport[ (])'([^']+)'/g)].map(([, from]) => from)
    expect(named.filter(from => from !== 'node:crypto' && !parts.includes(String(from)))).toEqual([])
  }
})

test('a challenge is judged by the time alone: its file knows no clock of signers and keeps nothing', () => {
  const text = read('hub/core/challenges.ts')
  expect(text).not.toMatch(/clocks|memory|store\./)
})

describe('the rooms of the hub', () => {
  const hubProduct = product.filter(path => path.startsWith('hub/'))

  test.each(['core', 'store', 'http', 'pages', 'operator'])('nothing in hub/%s names a wire', room => {
    const words = /wire ?[0-9]|WIRE|X-Svc-|\/v[13]\//
    const naming = hubProduct.filter(
      path => path.startsWith(`hub/${room}/`) && words.test(withoutComments(read(path))),
    )
    expect(naming).toEqual([])
  })

  test.each([
    ['sqlite', ['hub/store/sqlite/'], 20],
    ['postgres', ['hub/store/postgres/', 'hub/cluster/'], 20],
  ])('each table of its store is written in one file of the engine %s', (_, folders, least) => {
    const writers = new Map<string, Set<string>>()
    const isWithin = (path: string) => folders.some(folder => path.startsWith(folder))
    const isEngine = (path: string) => /^hub\/(?:store\/\w+|cluster)\//.test(path)
    for (const path of hubProduct) {
      if (isEngine(path) && !isWithin(path)) continue
      const statements = withoutComments(read(path)).matchAll(
        /\b(?:INSERT(?: OR \w+)? INTO|(?<!DO |FOR )UPDATE|DELETE FROM|REPLACE INTO) ([a-z_]+)\b/g,
      )
      for (const [, table = ''] of statements) writers.set(table, (writers.get(table) ?? new Set()).add(path))
    }
    const wrong = [...writers].filter(([, files]) => files.size !== 1 || ![...files].every(isWithin))
    expect(wrong).toEqual([])
    expect(writers.size).toBeGreaterThan(least)
  })
})

describe('clock, timers and randomness are passed in', () => {
  const inHouse = product.filter(path => /^(?:daemon|hub)\//.test(path))
  const naming = (words: RegExp) => inHouse.filter(path => words.test(withoutComments(read(path))))

  test('the node and the hub ask the runtime for randomness in one file each, and for time nowhere', () => {
    const timer =
      /(?:\bglobalThis\.|(?<![.\w#]))(?:set|clear)(?:Timeout|Interval|Immediate)\b|\btimers\/promises\b/
    const time = /\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|\bhrtime\b|\bAbortSignal\.timeout\b/
    const chance = /\bMath\.random\b|\brandom(?:Bytes|UUID|Int|Fill|FillSync)\b|\bgetRandomValues\b/
    expect([naming(timer), naming(time)]).toEqual([[], []])
    expect(naming(chance)).toEqual(['daemon/platform/random.ts', 'hub/core/random.ts'])
  })

  test('only what starts as a program, or works beside others, takes those of the machine', () => {
    const programs =
      /^hub\/(?:cli\/|operator\/(?:commands|doctor[a-z-]*)\.ts|witness\/run\.ts|store\/sqlite\/writer\.ts)/
    const others = naming(/\bsystem(?:Timers|Now|Random)\b/).filter(path => !programs.test(path))
    expect(others).toEqual([
      // a thread beside the node
      'daemon/archive/backup-worker.ts',
      // other processes of this machine
      'daemon/control/peer-user.ts',
      'daemon/home/proof.ts',
      // what a node, and a hub, is started with where nothing else is given
      'daemon/node.ts',
      'daemon/platform/random.ts',
      'hub/core/random.ts',
      'hub/directory-lock.ts',
      'hub/serve.ts',
    ])
  })
})

describe('files', () => {
  test('every source file starts by saying what it holds', () => {
    const silent = product.filter(path => !/^(\/\*\*|\/\/|#!)/.test(read(path)))
    expect(silent).toEqual([])
  })

  test('every export of protocol/ says what it is', () => {
    const declared =
      /^export (?:declare )?(?:async )?(?:abstract )?(?:const|function\*?|class|type|interface) (\w+)/
    const ends = /^\/\*\* .*\*\/$|^ \*\/$/
    const silent = product
      .filter(path => path.startsWith('protocol/'))
      .flatMap(path => {
        const lines = read(path).split('\n')
        return lines.flatMap((line, at) => {
          const name = declared.exec(line)?.[1]
          return name === undefined || ends.test(lines[at - 1] ?? '') ? [] : [`${path}: ${name}`]
        })
      })
    expect(silent).toEqual([])
  })

  test('files stay under 400 lines', () => {
    const long = product.filter(path => read(path).split('\n').length > 400)
    expect(long).toEqual([])
  })

  test('no any, no default export, no enum', () => {
    const wrong = product.filter(path =>
      /[:<(]\s*any\b|\bas any\b|^export default|^\s*(?:export )?(?:const )?enum /m.test(
        withoutComments(read(path)),
      ),
    )
    expect(wrong).toEqual([])
  })

  test('file names are kebab-case', () => {
    expect(
      sources.filter(path => !/^(?:\.?[a-z0-9-]+\/)*[a-z0-9-]+(?:\.[a-z0-9]+)*\.tsx?$/.test(path)),
    ).toEqual([])
  })

  test('sentences of protocol and command line keep clear of the worst English', () => {
    const worst =
      /is (?:one argument )?too many|is missing or is none|is none\b|cut short|longer than needed|has another (?:shape|digest|content id)|has no place in|there is no command|may be given once|exists already|takes (?:a whole|on or off)|is no (?:node|refusal|receipt)/
    const wrong = product
      .filter(path => /^(?:protocol|cli)\//.test(path))
      .flatMap(path =>
        [...withoutComments(read(path)).matchAll(/'[^'\n]*'|`[^`]*`/g)]
          .map(([text]) => text)
          .filter(text => worst.test(text))
          .map(text => `${path}: ${text}`),
      )
    expect(wrong).toEqual([])
  })

  test('both launchers are the same program', () => {
    expect(read('hub/bin/launch.js')).toBe(read('bin/launch.js'))
  })

  test('every version is pinned exactly', () => {
    for (const path of ['package.json', 'hub/package.json']) {
      const manifest = JSON.parse(read(path)) as Record<string, Record<string, string>>
      const versions = Object.entries({
        ...manifest['dependencies'],
        ...manifest['optionalDependencies'],
        ...manifest['devDependencies'],
      })
      expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([])
    }
  })
})

describe('tables of the node', () => {
  const writes = (table: string) =>
    new RegExp(`(?:INSERT (?:OR \\w+ )?INTO|REPLACE INTO|UPDATE|DELETE FROM)\\s+${table}\\b`)
  const schemas = tracked.filter(path => /^daemon\/store\/schema(?:-\w+)?\.ts$/.test(path))
  const tables = [
    ...schemas
      .map(read)
      .join('')
      .matchAll(/CREATE TABLE (\w+)/g),
  ].map(match => match[1] as string)
  // steps that change rows run before there is anything else
  const steps = [...schemas, 'daemon/store/upgrades.ts', 'daemon/store/from-memory.ts']
  const node = product.filter(path => path.startsWith('daemon/') && !steps.includes(path))

  test.each(tables)('%s is written in one file, which stands in daemon/store', table => {
    const writers = node.filter(path => writes(table).test(withoutComments(read(path))))
    expect(writers).toHaveLength(1)
    expect(writers[0]).toMatch(/^daemon\/store\//)
  })

  test('nothing outside daemon/store reads or writes a table: no statement stands there, and none is run', () => {
    const statement = /\b(?:SELECT\s|INSERT (?:OR \w+ )?INTO|REPLACE INTO|DELETE FROM|UPDATE \w+ SET)/
    const run = /\bstore\.(?:run|get|all|database)\b/
    const running = product.filter(
      path =>
        !/^(?:hub|daemon\/store|cli\/demo)\//.test(path) &&
        [statement, run].some(words => words.test(withoutComments(read(path)))),
    )
    expect(running).toEqual([])
  })
})

test('a part of the node names what it needs of the context; only those that join many parts take it whole', () => {
  const whole = product.filter(
    path => path.startsWith('daemon/') && /\bctx: Context\b/.test(read(path)) && !path.includes('/testing/'),
  )
  expect(whole).toEqual([
    'daemon/a2a/works.ts',
    'daemon/control/operations.ts',
    'daemon/control/parts.ts',
    'daemon/control/rules.ts',
    'daemon/mail/open.ts',
    'daemon/maintenance.ts',
    'daemon/membership/open.ts',
    'daemon/node.ts',
    'daemon/payments/parts.ts',
    'daemon/payments/x402.ts',
    'daemon/tasks/open.ts',
  ])
})

test('a part takes its collaborators and no slice of the context, which only the file that puts a room together sees', () => {
  const held = /^daemon\/(?:a2a|control|mail|membership|payments|sealed|tasks)\//
  const inRooms = product.filter(path => held.test(path) && !path.includes('/testing/'))
  const slices = inRooms.filter(path => /\b(?:Pick|Omit)<\s*(?:Context|Ground)\b/.test(read(path)))
  expect(slices).toEqual([])
  expect(
    inRooms.filter(path => /\{[^}]*\b(?:Context|Ground)\b[^}]*\} from '\.\.\/context\.ts'/.test(read(path))),
  ).toEqual([
    'daemon/a2a/works.ts',
    'daemon/control/operations.ts',
    'daemon/control/parts.ts',
    // what tasks and payments do, bound to the parts of this node
    'daemon/control/rules.ts',
    'daemon/mail/open.ts',
    'daemon/membership/open.ts',
    'daemon/payments/parts.ts',
    'daemon/payments/x402.ts',
    'daemon/sealed/open.ts',
    'daemon/tasks/open.ts',
  ])
})

test('members that may be missing are given through present(), not by a spread of a condition', () => {
  const spread = /\.\.\.\((?:[^()\n]|\([^()\n]*\))*\?\s*\{(?:\}\s*:|[^\n]*:\s*\{\}\))/
  expect(product.filter(path => spread.test(withoutComments(read(path))))).toEqual([])
})

describe('lint', () => {
  type Rules = Record<string, Record<string, unknown>>
  const biome = JSON.parse(read('biome.json')) as {
    linter: { rules: Rules }
    overrides: { includes: string[]; linter: { rules: Rules } }[]
  }
  /** How many files may still break a rule; the numbers only fall. */
  const open: Record<string, number> = {
    'complexity/noExcessiveCognitiveComplexity': 4,
  }
  const listed = (rule: string) => {
    const [group, name] = rule.split('/') as [string, string]
    return biome.overrides
      .filter(({ includes, linter }) => linter.rules[group]?.[name] === 'off' && !/\*/.test(includes.join()))
      .flatMap(({ includes }) => includes)
  }

  test('functions stay under 70 lines, those that stand in them counted', () => {
    const long = sources.filter(
      path => !/\.test\.tsx?$/.test(path) && longFunctions(path, read(path), LINES_MAX).length > 0,
    )
    // the list only shrinks
    expect(long).toEqual(['console/page/thread-actions.ts', 'test/console/world.ts'])
  })

  test('lists of files that still break a rule only shrink', () => {
    const counts = Object.keys(open).map(rule => [rule, listed(rule).length])
    expect(Object.fromEntries(counts)).toEqual(open)
  })

  test.each(Object.keys(open))('a file that keeps %s leaves the list', rule => {
    const files = listed(rule)
    if (files.length === 0) return
    const [group, name] = rule.split('/') as [string, string]
    const folder = mkdtempSync(join(tmpdir(), 'svc-lint-'))
    const rules = { preset: 'none', [group]: { [name]: biome.linter.rules[group]?.[name] } }
    writeFileSync(join(folder, 'biome.json'), JSON.stringify({ linter: { rules } }))
    const run = spawnSync(
      join(root, 'node_modules/.bin/biome'),
      ['lint', `--config-path=${folder}`, '--reporter=json', ...files],
      { cwd: root, encoding: 'utf8' },
    )
    const { diagnostics } = JSON.parse(run.stdout) as { diagnostics: { location: { path: string } }[] }
    const breaking = new Set(diagnostics.map(({ location }) => location.path))
    expect(files.filter(path => !breaking.has(path))).toEqual([])
  })
})
