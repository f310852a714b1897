/** Ways to the database of a hub: connections for its rows, and the one that lasts. */
import type { DatabasePlace } from './places-config.ts'
import { type Connections, connectTo } from './store/postgres/connections.ts'
import { type Link, openLink } from './store/postgres/link.ts'

type Way = Pick<DatabasePlace, 'url' | 'listenUrl' | 'passwordFile'>

export const connectionsTo = ({ url, passwordFile }: Way): Connections => connectTo(url, { passwordFile })

/** No pooler may stand in this one. */
export const linkTo = ({ url, listenUrl, passwordFile }: Way): Promise<Link> =>
  openLink(listenUrl ?? url, { passwordFile })
