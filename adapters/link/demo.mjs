/** What the demos share: the socket that they are given, and programs that end with them. */
import { spawn } from 'node:child_process'

/** The socket of the node, as the demo was called with it. */
export function givenSocket() {
  const [path] = process.argv.slice(2)
  if (path !== undefined) return path
  console.error('usage: npm run demo -- <data directory of the node>/devices.sock')
  process.exit(2)
}

/** Starts programs, each with its arguments; when one of them or the demo ends, all do. */
export function runAll(programs) {
  const children = programs.map(args => spawn(process.execPath, args, { stdio: 'inherit' }))
  for (const child of children) child.on('exit', code => process.exit(code ?? 1))
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(0))
  process.on('exit', () => children.map(child => child.kill()))
}
