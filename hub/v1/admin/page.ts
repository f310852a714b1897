/** The page of the operator as it is sent: one document whose own style and script alone may run. */
import { createHash } from 'node:crypto'

const PARTS = /<(style|script type="module")>([\s\S]*?)<\/(?:style|script)>/g

/** Headers of the page: nothing loads from elsewhere, nothing frames it, and it asks its own listener alone. */
export function adminPageHeaders(document: string): Record<string, string> {
  const hashes = { style: [] as string[], script: [] as string[] }
  for (const [, tag = '', text = ''] of document.matchAll(PARTS))
    hashes[tag === 'style' ? 'style' : 'script'].push(
      `'sha256-${createHash('sha256').update(text).digest('base64')}'`,
    )
  const policy = [
    "default-src 'none'",
    `style-src ${hashes.style.join(' ') || "'none'"}`,
    `script-src ${hashes.script.join(' ') || "'none'"}`,
    "connect-src 'self'",
    'img-src data:',
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ]
  return {
    'Content-Security-Policy': policy.join('; '),
    'Cross-Origin-Opener-Policy': 'same-origin',
    'X-Frame-Options': 'DENY',
  }
}
