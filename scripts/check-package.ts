/** Checks the packages as they would be published: manifest, entry points, file list. */

import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'

const root = fileURLToPath(new URL('..', import.meta.url))
let faults = 0

for (const folder of ['.', 'hub', 'x402']) {
  const pkgDir = `${root}${folder}`
  const { messages, pkg } = await publint({ pkgDir, strict: true })
  for (const message of messages) {
    if (message.type === 'suggestion') continue
    faults++
    process.stderr.write(`${folder}: ${formatMessage(message, pkg)}\n`)
  }
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: pkgDir,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  ) as [{ files: { path: string }[] }]
  const pages: Record<string, string[]> = {
    '.': ['verify.html', 'console.html'],
    hub: ['guest.js', 'admin.html'],
  }
  for (const page of pages[folder] ?? []) {
    if (packed.files.some(({ path }) => path.endsWith(`/${page}`))) continue
    faults++
    process.stderr.write(`${folder}: the package would lack ${page}\n`)
  }
  const wrong = packed.files
    .map(file => file.path)
    .filter(path => /\.(ts|tsx|test\.|map)$/.test(path) && !path.endsWith('.d.ts'))
  for (const path of wrong) {
    faults++
    process.stderr.write(`${folder}: the package would hold ${path}\n`)
  }
}
process.exitCode = faults === 0 ? 0 : 1
