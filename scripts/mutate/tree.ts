/** A copy of the work tree in which files are changed and tests run; the work tree itself is never touched. */
import { execFileSync, spawn } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { PLAN_FOLDER } from './plan.ts'

export type Outcome = 'passed' | 'failed' | 'late'
type Running = { limitMs: number; env?: Record<string, string>; isStuck?: (() => boolean) | undefined }
type Ran = { outcome: Outcome; output: string }

/** Tracked and new files of the work tree, as git lists them. */
export function filesOf(root: string): string[] {
  return execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\0')
    .filter(path => path !== '' && existsSync(join(root, path)))
}

/** What the copy shares with the work tree because no test changes it, and what it needs a copy of. */
const LINKED = ['node_modules', 'dist', 'hub/dist']
const COPIED = ['.tsbuild']
const WATCH_EVERY_MS = 10_000
const PROJECTS = ['quick', 'matrix', 'variants'].flatMap(name => ['--project', name])
const QUICK = ['vitest', 'run', ...PROJECTS, '--reporter', 'dot']

export class Tree implements Disposable {
  readonly root: string

  constructor(from: string, files: readonly string[]) {
    this.root = mkdtempSync(join(tmpdir(), 'svc-mutate-'))
    for (const path of [...files, ...COPIED]) {
      if (!existsSync(join(from, path))) continue
      mkdirSync(dirname(join(this.root, path)), { recursive: true })
      cpSync(join(from, path), join(this.root, path), { recursive: true, preserveTimestamps: true })
    }
    for (const path of LINKED) symlinkSync(join(from, path), join(this.root, path))
  }

  read(path: string): string {
    return readFileSync(join(this.root, path), 'utf8')
  }

  write(path: string, text: string): void {
    writeFileSync(join(this.root, path), text)
  }

  /** Runs the quick tests of these files until one fails. */
  async test(files: readonly string[], limitMs: number): Promise<Outcome> {
    return (await this.#run([...QUICK, '--bail', '1', ...files], { limitMs })).outcome
  }

  /** Runs all of them as the plan in the folder says. */
  async testPlanned(
    files: readonly string[],
    folder: string,
    limitMs: number,
    isStuck?: () => boolean,
  ): Promise<Outcome> {
    const env = { [PLAN_FOLDER]: folder }
    const how = { limitMs, env, isStuck }
    return (await this.#run([...QUICK, '--maxWorkers', '2', ...files], how)).outcome
  }

  /** Files in which the compiler finds faults, of the folder's own project. */
  async faulty(folder: string, limitMs: number): Promise<Set<string>> {
    const project = existsSync(join(this.root, folder, 'tsconfig.json')) ? folder : '.'
    const { output } = await this.#run(['tsc', '-b', '--pretty', 'false', project], { limitMs })
    return new Set([...output.matchAll(/^([^\s(]+)\(\d+,\d+\): error/gm)].map(([, path]) => path as string))
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true })
  }

  #run([program, ...rest]: string[], { limitMs, env = {}, isStuck = () => false }: Running): Promise<Ran> {
    return new Promise((resolve, reject) => {
      const binary = join(this.root, 'node_modules/.bin', program as string)
      // a group of its own, so that what hangs ends with everything it started
      const child = spawn(process.execPath, [binary, ...rest], {
        cwd: this.root,
        env: { ...process.env, ...env },
        stdio: ['ignore', 'pipe', 'ignore'],
        detached: true,
      })
      let output = ''
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
      let late = false
      const end = () => {
        late = true
        try {
          process.kill(-(child.pid as number), 'SIGKILL')
        } catch {
          // ended by itself meanwhile
        }
      }
      const timer = setTimeout(end, limitMs)
      const watch = setInterval(() => isStuck() && end(), WATCH_EVERY_MS)
      const stop = () => {
        end()
        process.exit(130)
      }
      process.once('SIGINT', stop)
      child.once('error', reject)
      child.once('close', code => {
        clearTimeout(timer)
        clearInterval(watch)
        process.removeListener('SIGINT', stop)
        resolve({ outcome: late ? 'late' : code === 0 ? 'passed' : 'failed', output })
      })
    })
  }
}
