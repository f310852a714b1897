/**
 * For tests: the program as one bundle of the present sources, because it starts in half the time. Bundles are kept by
 * their content, so that test files and later runs share one.
 */
import { createHash, randomUUID } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { build } from 'esbuild'
import { readMigrations as readSchema } from '../store/postgres/migrate.ts'
import { readMigrations } from '../store/sqlite/migrate.ts'

const at = (path: string): string => new URL(path, import.meta.url).pathname
const KEPT = at('../../node_modules/.cache/svc-hub-test/')
const DIGITS = 16
const READABLE = 0o022

let bundled: Promise<string> | undefined

/** Path of the bundled program, built when these sources have none yet. */
export function bundledProgram(): Promise<string> {
  bundled ??= bundle()
  return bundled
}

async function bundle(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: {
      'svc-hub': at('../cli/program.ts'),
      'store-writer': at('../store/sqlite/writer.ts'),
      'verify-worker': at('../core/verify-worker.ts'),
      'epoch-worker': at('../epochs/worker.ts'),
    },
    outdir: KEPT,
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    splitting: true,
    logLevel: 'warning',
    external: ['pg-native'],
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
  })
  const hash = createHash('sha256')
  for (const { contents } of outputFiles) hash.update(contents)
  for (const { sql } of readMigrations()) hash.update(sql)
  for (const sql of readSchema()) hash.update(sql)
  const folder = join(KEPT, hash.digest('hex').slice(0, DIGITS))
  if (!existsSync(folder)) {
    // Tests start it as other users too, and a command that ran in this process may have kept new files private.
    const mask = process.umask(READABLE)
    const draft = join(KEPT, randomUUID())
    mkdirSync(draft, { recursive: true })
    for (const { path, contents } of outputFiles) writeFileSync(join(draft, basename(path)), contents)
    cpSync(at('../store/sqlite/migrations'), join(draft, 'migrations'), { recursive: true })
    cpSync(at('../store/postgres/schema'), join(draft, 'schema'), { recursive: true })
    place(draft, folder)
    process.umask(mask)
  }
  return join(folder, 'svc-hub.js')
}

/** Another test file may have placed the same bundle meanwhile. */
function place(draft: string, folder: string): void {
  try {
    renameSync(draft, folder)
  } catch (error) {
    if (!existsSync(folder)) throw error
    rmSync(draft, { recursive: true })
  }
}
