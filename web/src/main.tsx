// The page: classes on the left, rows in the middle, the detail of one on the right.

import { render } from 'preact';

import './style.css';
import { listenToKeys } from './keys';
import { start, use } from './store';
import { Message, Progress, Selection, Top } from './views/Bars';
import { Classes } from './views/Classes';
import { Detail } from './views/Detail';
import { Dialogs } from './views/Dialogs';
import { Grid } from './views/Grid';
import { MapView } from './views/MapView';
import { Queue } from './views/Queue';

function App() {
  const view = use((all) => all.view);
  const detail = use((all) => all.detail);
  const name = use((all) => all.pool.name);
  return (
    <div class={`app view-${view}${detail === null ? '' : ' with-detail'}`}>
      <div class="side">
        <h1>
          <span class="logo" aria-hidden="true" />
          handful <span class="pool">{name}</span>
        </h1>
        <Classes />
      </div>
      <main>
        <Top />
        <Progress />
        {view === 'queue' ? <Queue /> : view === 'map' ? <MapView /> : <Grid key={view} />}
        <Selection />
      </main>
      {detail !== null && <Detail row={detail} />}
      <Dialogs />
      <Message />
    </div>
  );
}

const root = document.getElementById('app');
if (root) {
  start().then(
    () => {
      listenToKeys();
      render(<App />, root);
    },
    (error: unknown) => {
      root.textContent = error instanceof Error ? error.message : 'The studio does not answer.';
    },
  );
}
