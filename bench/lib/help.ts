/** Help of a measurement is what the first lines of its file say. */
import { readFileSync } from 'node:fs'

const FIRST = /^\/\*\*([\s\S]*?)\*\//

/** The description at the head of a file, as one line. */
export function headOf(path: string | URL): string {
  const [, text = ''] = FIRST.exec(readFileSync(path, 'utf8')) ?? []
  return text.replaceAll(/\s*\n\s*\*\s*/g, ' ').trim()
}

export const asksForHelp = (args: readonly string[]): boolean =>
  args.some(argument => argument === '--help' || argument === '-h')

/** Runs one file of measurements that was started by itself, or prints what it measures. */
export async function runAlone(path: string, run: () => Promise<object[]>): Promise<void> {
  if (asksForHelp(process.argv.slice(2))) process.stdout.write(`${headOf(path)}\n`)
  else console.table(await run())
}
