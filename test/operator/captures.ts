/** Captures of the operator's page for the documents, over the built svc-hub. */
import { join } from 'node:path'
import { startBrowser } from '../browser.ts'
import { liveAtHub, openOperatorWorld, TOKEN } from './world.ts'

const sizes = { wide: { width: 1080, height: 600 }, phone: { width: 360, height: 700 } } as const
const captures = [
  ['agents', 'wide', 'light'],
  ['network', 'phone', 'dark'],
  ['overview', 'wide', 'dark'],
] as const

/** Writes the captures into a folder. */
export async function captureOperator(folder: string): Promise<void> {
  const world = await openOperatorWorld()
  const [ada] = await liveAtHub(world)
  await fetch(`${world.url}/api/official`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ aid: ada?.aid, badge: 'house' }),
  })
  const browser = await startBrowser()
  for (const [screen, size, colorScheme] of captures) {
    const page = await browser.newPage({ viewport: sizes[size], colorScheme })
    await page.goto(world.url)
    await page.getByLabel('Token').fill(TOKEN)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.goto(`${world.url}#${screen}`)
    await page.getByText('Reading…').waitFor({ state: 'detached' })
    await page.screenshot({ path: join(folder, `operator-${screen}-${size}-${colorScheme}.png`) })
    await page.close()
  }
  await browser.close()
  await world.close()
}
