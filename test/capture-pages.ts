/** `npm run -s captures`: the pages of a hub, its operator's page, and the console of a node at two sizes, light and dark, into docs/pictures; looked at before a commit. */
import { mkdirSync } from 'node:fs'
import { hubToLookAt, pageSizes, startBrowser } from './browser.ts'
import { captureConsole } from './console/captures.ts'
import { captureOperator } from './operator/captures.ts'

const FOLDER = new URL('../docs/pictures/', import.meta.url).pathname

mkdirSync(FOLDER, { recursive: true })
const hub = await hubToLookAt()
const browser = await startBrowser()
for (const [size, viewport] of Object.entries(pageSizes)) {
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await browser.newPage({ viewport, colorScheme, javaScriptEnabled: false })
    await page.goto(hub.url)
    await page.screenshot({ path: `${FOLDER}hub-page-${size}-${colorScheme}.png`, fullPage: true })
    await page.getByRole('link', { name: 'Ada reviews' }).click()
    await page.screenshot({ path: `${FOLDER}agent-page-${size}-${colorScheme}.png`, fullPage: true })
    await page.close()
  }
}
await browser.close()
await hub.close()
await captureConsole(FOLDER)
await captureOperator(FOLDER)
