/** The built svc-hub as a process, and its operator's commands. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

const PROGRAM = new URL('../../../hub/dist/svc-hub.js', import.meta.url).pathname

export type Program = {
  url: string
  aid: string
  /** Runs a command of the operator; what it printed. */
  command(...args: string[]): Promise<Record<string, unknown>>
  close(): Promise<void>
}

/** Starts `svc-hub serve --wire 1` on a directory of its own; `more` are further arguments. */
export async function startProgram(...more: string[]): Promise<Program> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-second-wire1-'))
  const at = ['--data-dir', join(folder, 'data')]
  const given = ['serve', ...at, '--wire', '1', '--listen', '127.0.0.1:0', ...more]
  const child = spawn(process.execPath, [PROGRAM, ...given], { stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  child.stderr.on('data', chunk => {
    said += String(chunk)
  })
  let [url, aid] = ['', '']
  for await (const line of createInterface({ input: child.stdout })) {
    url ||= /http:\S+/.exec(line)?.[0] ?? ''
    aid ||= /hub AID (\S+)/.exec(line)?.[1] ?? ''
    if (url !== '' && aid !== '') break
  }
  if (url === '' || aid === '') throw new Error(`the hub did not start: ${said}`)
  return {
    url,
    aid,
    async command(...args) {
      const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, ...args, ...at, '--json'])
      return JSON.parse(stdout) as Record<string, unknown>
    },
    async close() {
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'exit')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
