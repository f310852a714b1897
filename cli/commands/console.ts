/** `svc console`: a link that opens the page of the node once, and the browser that opens it. */
import { spawn } from 'node:child_process'
import { connect } from '../client/control.ts'
import type { Run } from '../command.ts'
import { type Io, notice, printReply } from '../io.ts'

/** How each system opens an address; the link is one word, whatever it holds. */
const OPENERS: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
  linux: ['xdg-open'],
}
const OPEN_WAIT_MS = 3_000

export const console: Run = async (io, input) => {
  const link = await connect(io, input).call('consoleTicket', {})
  if (input.flags.has('--url')) {
    printReply(io, link)
    return 0
  }
  const opened = await open(io, link.console_url)
  printReply(io, { ...link, opened })
  if (!opened) notice(io, 'no browser could be started here; open console_url in one, within a minute')
  return 0
}

/** Whether a browser took the link; one that stays in the foreground did. */
function open({ env }: Io, url: string): Promise<boolean> {
  const given = env['BROWSER']?.trim()
  const words = given ? [given] : OPENERS[process.platform]
  const hasScreen = process.platform !== 'linux' || env['DISPLAY'] || env['WAYLAND_DISPLAY'] || given
  const [program, ...rest] = words ?? []
  if (program === undefined || !hasScreen) return Promise.resolve(false)
  return new Promise(resolve => {
    const child = spawn(program, [...rest, url], { stdio: 'ignore', detached: true, env: { ...env } })
    const timer = setTimeout(() => resolve(true), OPEN_WAIT_MS)
    child.on('error', () => resolve(false))
    child.on('exit', code => resolve(code === 0))
    child.on('close', () => clearTimeout(timer))
    child.unref()
  })
}
