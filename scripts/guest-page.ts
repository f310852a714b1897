/** What runs on the page for guests of a hub, as one script; the hub puts it into the page, under a policy that names it. */
import { pageBundle } from './page-bundle.ts'

export async function guestScript(): Promise<string> {
  const code = await pageBundle('guest/main.ts', { format: 'iife', target: 'es2022', charset: 'ascii' })
  if (code.includes('<!--')) throw new Error('the page would end its own script')
  return code
}
