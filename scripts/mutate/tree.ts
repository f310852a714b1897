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

export type Outcome = 'passed' | 'failed' | 'late'

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
  test(files: readonly string[], limitMs: number): Promise<Outcome> {
    return this.#run(
      ['vitest', 'run', '--project', 'quick', '--bail', '1', '--reporter', 'dot', ...files],
      limitMs,
    )
  }

  /** Whether the folder's own project still compiles. */
  async compiles(folder: string, limitMs: number): Promise<boolean> {
    const project = existsSync(join(this.root, folder, 'tsconfig.json')) ? folder : '.'
    return (await this.#run(['tsc', '-b', project], limitMs)) === 'passed'
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true })
  }

  #run([program, ...rest]: string[], limitMs: number): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const binary = join(this.root, 'node_modules/.bin', program as string)
      // a group of its own, so that what hangs ends with everything it started
      const child = spawn(process.execPath, [binary, ...rest], {
        cwd: this.root,
        stdio: 'ignore',
        detached: true,
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
      const stop = () => {
        end()
        process.exit(130)
      }
      process.once('SIGINT', stop)
      child.once('error', reject)
      child.once('exit', code => {
        clearTimeout(timer)
        process.removeListener('SIGINT', stop)
        resolve(late ? 'late' : code === 0 ? 'passed' : 'failed')
      })
    })
  }
}
